// Runs a program to its end and keeps the tail of what it prints. Any thread; blocks.
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
  std::map<std::string, std::string> env;  // on top of this process's environment
  std::string cwd;                         // empty: this process's
  std::string standard_input;
  std::size_t tail_bytes_max = std::size_t{64} << 10;  // of each stream; older bytes are dropped
  /// Gets each line that the program prints when it has ended; see line_splitter. It can be empty.
  /// A line that has stood for a second without a newline comes before that, with a carriage return
  /// at its end. Called by the thread that runs run_process, which reads nothing meanwhile.
  std::function<void(process_stream, std::string_view line)> on_line{};
  /// From SIGTERM to SIGKILL, when stopped.
  std::chrono::milliseconds kill_after{2'000};
  /// How long output is read after the program's end, if something it started keeps the pipes.
  std::chrono::milliseconds linger{1'000};
};

struct process_end {
  int exit_code = 0;  // 128 + n after signal n
  std::string stdout_tail;
  std::string stderr_tail;
};

/// The program runs in a process group of its own; when `stop` is requested, the group gets
/// SIGTERM, then SIGKILL, and this returns as soon as the program has ended. No deadline besides
/// that. Errors: std::system_error (the program cannot be started), std::invalid_argument (empty
/// argv, a NUL byte).
process_end run_process(process_options const& options, std::stop_token stop);

}  // namespace muster
