// A barrier for a fixed set of participants that can be used again and again, and fails instead of
// hanging: on a deadline, when somebody will not come any more, when it is aborted. A failure is
// final and reaches all. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace muster {

class barrier_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class worker_barrier {
 public:
  explicit worker_barrier(std::vector<std::string> participants);

  /// Returns once all have come. Errors: barrier_error says who is missing, or why it was aborted.
  void wait(std::size_t participant, std::chrono::milliseconds timeout);
  /// It will not come any more: who waits for it, now or later, fails.
  void leave(std::size_t participant);
  /// Everybody who waits fails with this reason.
  void abort(std::string const& reason);

 private:
  std::string missing() const;
  void fail(std::string reason);

  std::vector<std::string> const participants_;
  std::mutex mutex_;  // protects the following
  std::condition_variable changed_;
  std::set<std::size_t> arrived_, left_;
  std::uint64_t round_ = 0;
  std::string failure_;
};

}  // namespace muster
