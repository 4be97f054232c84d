// What the server asks of the operating system for the whole process: stop signals, file limits,
// randomness, a last resort. The signal functions belong to the main thread.
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

/// Holds SIGTERM and SIGINT back from every thread that is started later, and ignores SIGPIPE.
/// REQUIRES: before the first thread.
void hold_stop_signals();
/// Waits for one of them and gives its name.
std::string wait_for_stop_signal();
/// The same for this long; nothing when none has come.
std::optional<std::string> wait_for_stop_signal(std::chrono::milliseconds limit);
/// Any thread: makes wait_for_stop_signal return.
void request_stop();
/// From now on the next of them ends the process at once, with exit status 1.
void exit_on_next_stop_signal();

/// Raises the soft limit of open files to the hard one (a worker is a file) and gives it.
std::uint64_t raise_file_limit();
/// The soft limit as it is.
std::uint64_t file_limit();
/// Where descriptors are few, neither kind of connection takes them all from the other.
std::size_t share_of_files(std::size_t wanted, std::size_t divisor);

/// A thread that `top -H` and debuggers show by this name, of at most 15 characters.
std::thread named_thread(char const* name, std::function<void()> work);

/// Never 0, which means "none" in incarnations.
std::uint64_t random_64();

/// Says once that the process has no file descriptor left, however often that is noticed and by how
/// many threads: until nobody has noticed it for ten seconds. Any thread.
class descriptor_shortage {
 public:
  /// `limit`: of descriptors, for the text.
  explicit descriptor_shortage(std::uint64_t limit) : limit_(limit) {}

  void noticed();

 private:
  std::uint64_t const limit_;
  std::mutex mutex_;  // protects the following
  std::optional<std::chrono::steady_clock::time_point> last_;
};

/// Ends the process with exit status 1 unless it is destroyed within `limit`; says in which step.
class stop_watchdog {
 public:
  explicit stop_watchdog(std::chrono::microseconds limit);
  ~stop_watchdog();
  stop_watchdog(stop_watchdog const&) = delete;

  void enter(std::string step);

 private:
  void watch();

  std::chrono::steady_clock::time_point const deadline_;
  std::mutex mutex_;  // protects the following
  std::condition_variable changed_;
  std::string step_;
  bool over_ = false;

  std::thread thread_;
};

}  // namespace muster::server
