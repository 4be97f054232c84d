// Process-wide settings of the server: stop signals, file limits, randomness, and a watchdog for
// stopping. Call the signal functions on the main thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace muster::server {

/// Blocks SIGTERM and SIGINT in all threads started later. Ignores SIGPIPE.
/// @pre No thread has been started.
void hold_stop_signals();
std::string wait_for_stop_signal();
/// Returns the signal's name, or nullopt if no signal arrives.
std::optional<std::string> wait_for_stop_signal(std::chrono::milliseconds limit);
/// Makes wait_for_stop_signal return. Thread-safe.
void request_stop();
/// Makes the next stop signal end the process immediately with exit status 1.
void exit_on_next_stop_signal();

/// Raises the soft limit of open files to the hard limit, because each worker needs a descriptor.
std::uint64_t raise_file_limit();
std::uint64_t file_limit();
/// Limits connections of one kind to a share of the descriptors, so that other kinds can use the
/// rest.
std::size_t share_of_files(std::size_t wanted, std::size_t divisor);

/// Starts a thread with a name of at most 15 characters, for `top -H` and debuggers.
std::thread named_thread(char const* name, std::function<void()> work);

std::uint64_t random_64();

/// Logs a shortage of file descriptors once, and again if it recurs after ten seconds without a
/// shortage. Thread-safe.
class descriptor_shortage {
 public:
  explicit descriptor_shortage(std::uint64_t limit) : limit_(limit) {}

  void noticed();

 private:
  std::uint64_t const limit_;
  std::mutex mutex_;  // guards the following members
  std::optional<std::chrono::steady_clock::time_point> last_;
};

/// Ends the process with exit status 1 if this object still exists after `limit`. Logs the current
/// step.
class stop_watchdog {
 public:
  explicit stop_watchdog(std::chrono::microseconds limit);
  ~stop_watchdog();
  stop_watchdog(stop_watchdog const&) = delete;

  void enter(std::string step);

 private:
  void watch();

  std::chrono::steady_clock::time_point const deadline_;
  std::mutex mutex_;  // guards the following members
  std::condition_variable changed_;
  std::string step_;
  bool over_ = false;

  std::thread thread_;
};

}  // namespace muster::server
