// A child process of a benchmark. The destructor kills it. One thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace muster::bench {

class process {
 public:
  /// Starts `argv`; argv[0] is the program. Discards standard output, and inherits standard error.
  /// @throws std::runtime_error if the program cannot be started.
  explicit process(std::vector<std::string> const& argv);
  ~process();
  process(process&& other) noexcept;
  process& operator=(process&&) = delete;

  pid_t pid() const { return pid_; }
  bool running();
  void kill(int signal);
  /// Sends SIGTERM, and SIGKILL after `grace`.
  void stop(std::chrono::milliseconds grace = std::chrono::seconds(5));

  std::size_t resident_bytes() const;
  /// Returns user and system time so far.
  std::chrono::microseconds cpu_time() const;

 private:
  pid_t pid_ = -1;
};

/// Returns the memory of any process; 0 if it has ended.
std::size_t resident_bytes_of(pid_t pid);
std::chrono::microseconds cpu_time_of(pid_t pid);

/// Returns the path of the running program, to start it in other roles.
std::string this_program();

/// Waits until the file exists, and returns its text. Throws after `limit`, or if `owner` has
/// ended.
std::string wait_for_file(std::string const& path, process& owner, std::chrono::seconds limit);

}  // namespace muster::bench
