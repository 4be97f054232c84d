// Runs a program until it exits and returns the end of its output. Thread-safe; blocks.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class process_stream { out, err };

struct process_options {
  std::vector<std::string> argv;           // argv[0] is looked up in PATH
  std::map<std::string, std::string> env;  // overrides this process's environment
  std::string cwd;                         // if empty, this process's working directory
  std::string standard_input;
  // Maximum bytes kept per stream; the oldest bytes are dropped.
  std::size_t tail_bytes_max = std::size_t{64} << 10;
  /// Called for each complete line of output, which can be empty; see line_splitter. Also called
  /// for a line that is unfinished after a second, with a carriage return at its end. Runs on the
  /// thread of run_process, which reads no output during the call.
  std::function<void(process_stream, std::string_view line)> on_line{};
  std::chrono::milliseconds kill_after{2'000};
  /// How long output is still read after the program has exited, if a descendant keeps the pipes
  /// open.
  std::chrono::milliseconds linger{1'000};
};

struct process_end {
  int exit_code = 0;  // 128 + n after signal n
  std::string stdout_tail;
  std::string stderr_tail;
};

/// Runs a program in its own process group. When `stop` is requested, the group receives SIGTERM,
/// then SIGKILL. Returns once the program has exited. There is no time limit.
/// @throws std::system_error if the program cannot be started
/// @throws std::invalid_argument if argv is empty or contains a NUL byte
process_end run_process(process_options const& options, std::stop_token stop);

}  // namespace muster
