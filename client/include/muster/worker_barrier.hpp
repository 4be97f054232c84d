// A reusable barrier for the threads of one process.
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

/// A barrier has failed. The reason is in what().
class barrier_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A reusable barrier for a fixed set of participants in one process. Instead of blocking forever,
/// it fails after a timeout, if a participant has left, or if it is aborted. A failure is permanent
/// and affects all participants. Members may be called from any thread.
class worker_barrier {
 public:
  /// Constructs a barrier.
  /// @param participants  names for messages, indexed by participant number
  explicit worker_barrier(std::vector<std::string> participants);

  /// Waits until all participants have called this function.
  /// @param participant  participant number of the caller
  /// @param timeout  maximum time to wait
  /// @throws barrier_error  the barrier failed; the message names the missing participants or the
  ///   reason for the abort
  void wait(std::size_t participant, std::chrono::milliseconds timeout);
  /// Removes a participant permanently. All current and later waits fail.
  /// @param participant  participant number
  void leave(std::size_t participant);
  /// Fails all current and later waits.
  /// @param reason  the message of barrier_error
  void abort(std::string const& reason);

 private:
  std::string missing() const;
  void fail(std::string reason);

  std::vector<std::string> const participants_;
  std::mutex mutex_;  // protects the following members
  std::condition_variable changed_;
  std::set<std::size_t> arrived_, left_;
  std::uint64_t round_ = 0;
  std::string failure_;
};

}  // namespace muster
