// How long a worker may run ranks without hearing its server: from when it sent the last message
// whose number came back. Pure; one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <utility>

namespace muster {

class lease {
 public:
  using clock = std::chrono::steady_clock;
  /// Numbers that have not come back; beyond, the oldest are not waited for.
  static constexpr std::size_t open_max = 256;

  explicit lease(std::chrono::milliseconds length) : length_(length) {}

  /// A hello is sent, which the welcome answers.
  void greeted(clock::time_point now) {
    open_.clear();
    last_ = 0;  // numbers are of a stream
    open_.emplace_back(0, now);
    sent_ = now;
  }
  /// The number for a message that is sent now; 0: there was one just before. The server answers
  /// each number, so a busy stream must not have one in every message.
  std::uint64_t number(clock::time_point now) {
    if (now - sent_ < sign_of_life() / 2) return 0;
    sent_ = now;
    if (open_.size() == open_max) open_.pop_front();
    open_.emplace_back(++last_, now);
    return last_;
  }
  /// The server has this one, and all before it. False: nothing is new in that.
  bool came_back(std::uint64_t number) {
    bool renewed = false;
    while (!open_.empty() && open_.front().first <= number) {
      renewed_ = open_.front().second;
      open_.pop_front();
      renewed = true;
    }
    return renewed;
  }

  /// Ranks are killed then: a tenth before it runs out, so that they are dead by then.
  clock::time_point until() const { return renewed_ + length_ - length_ / 10; }
  std::chrono::milliseconds sign_of_life() const { return length_ / 4; }

 private:
  std::chrono::milliseconds const length_;
  std::deque<std::pair<std::uint64_t, clock::time_point>> open_;
  std::uint64_t last_ = 0;
  clock::time_point sent_{};  // the last of them
  clock::time_point renewed_{};
};

}  // namespace muster
