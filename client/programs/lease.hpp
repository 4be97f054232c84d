// Limits how long a worker runs ranks without messages from its server. The time is counted from
// the sending of the last message whose number the server has returned. Does no I/O; not
// thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <utility>

namespace muster {

class lease {
 public:
  using clock = std::chrono::steady_clock;
  /// Maximum number of unacknowledged numbers; beyond this limit, the oldest numbers are dropped.
  static constexpr std::size_t open_max = 256;

  explicit lease(std::chrono::milliseconds length) : length_(length) {}

  /// Must be called when a hello is sent, which the welcome acknowledges.
  void greeted(clock::time_point now) {
    open_.clear();
    last_ = 0;  // each stream has its own numbers
    open_.emplace_back(0, now);
    sent_ = now;
  }
  /// Returns the number for a message sent now, or 0 if another message was numbered recently. The
  /// server answers each number, so a busy stream must not number every message.
  std::uint64_t number(clock::time_point now) {
    if (now - sent_ < sign_of_life() / 2) return 0;
    sent_ = now;
    if (open_.size() == open_max) open_.pop_front();
    open_.emplace_back(++last_, now);
    return last_;
  }
  /// Called when the server has received this number and all earlier numbers. Returns whether the
  /// lease was extended.
  bool came_back(std::uint64_t number) {
    bool renewed = false;
    while (!open_.empty() && open_.front().first <= number) {
      renewed_ = open_.front().second;
      open_.pop_front();
      renewed = true;
    }
    return renewed;
  }

  /// Returns the time to kill ranks, shortly before the lease ends, so that the ranks are dead by
  /// then.
  clock::time_point until() const { return renewed_ + length_ - length_ / 10; }
  std::chrono::milliseconds sign_of_life() const { return length_ / 4; }

 private:
  std::chrono::milliseconds const length_;
  std::deque<std::pair<std::uint64_t, clock::time_point>> open_;
  std::uint64_t last_ = 0;
  clock::time_point sent_{};
  clock::time_point renewed_{};
};

}  // namespace muster
