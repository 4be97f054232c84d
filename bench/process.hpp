// A child process of a benchmark: started, waited for, measured, ended. Killed when it goes out of
// scope. One thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace muster::bench {

class process {
 public:
  /// Starts `argv` (argv[0] is the program). Its standard output is dropped, errors pass through.
  /// Throws std::runtime_error when it cannot be started.
  explicit process(std::vector<std::string> const& argv);
  ~process();
  process(process&& other) noexcept;
  process& operator=(process&&) = delete;

  pid_t pid() const { return pid_; }
  bool running();
  void kill(int signal);
  /// SIGTERM, then SIGKILL after `grace`.
  void stop(std::chrono::milliseconds grace = std::chrono::seconds(5));

  std::size_t resident_bytes() const;
  /// User and system time so far.
  std::chrono::microseconds cpu_time() const;

 private:
  pid_t pid_ = -1;
};

/// Of any process; 0 when it is gone.
std::size_t resident_bytes_of(pid_t pid);
std::chrono::microseconds cpu_time_of(pid_t pid);

/// The path of the running program, to start other roles of it.
std::string this_program();

/// Waits until the file exists and returns its text; throws after `limit` or when `owner` ended.
std::string wait_for_file(std::string const& path, process& owner, std::chrono::seconds limit);

}  // namespace muster::bench
