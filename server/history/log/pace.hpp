// How often log events of one kind are made one by one: what a client can cause by thousands must
// not push everything else out of the feed. What is left out is counted, for the next one to say.
//
// Knows times and a number, nothing else. Owned by log_events; engine thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "server/core/api/time.hpp"

namespace muster::history {

using namespace muster::core;  // its times are the core's

class log_event_pace {
 public:
  static constexpr std::uint32_t singly = 20;  // within…
  static constexpr duration period = std::chrono::minutes(1);

  /// One more has happened: whether to say so.
  bool may_say(time_point now) {
    if (now >= until_) {
      until_ = now + period;
      said_ = 0;
    }
    if (said_ == singly) {
      ++left_out_;
      return false;
    }
    ++said_;
    return true;
  }
  /// Those that were not said since the last time that this was asked.
  std::uint64_t take_left_out() { return std::exchange(left_out_, 0); }

  /// Empty when all is in order between two steps.
  std::string invalid() const { return said_ <= singly ? "" : "too many log events were made"; }

 private:
  time_point until_{};
  std::uint32_t said_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace muster::history
