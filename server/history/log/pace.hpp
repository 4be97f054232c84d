// Rate limit for log events of one kind, so that a client cannot displace other events. Owned by
// log_events; used only on the engine thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "server/core/api/time.hpp"

namespace muster::history {

using namespace muster::core;

class log_event_pace {
 public:
  static constexpr std::uint32_t singly = 20;  // maximum number of events per `period`
  static constexpr duration period = std::chrono::minutes(1);

  bool may_log(time_point now) {
    if (now >= until_) {
      until_ = now + period;
      logged_in_interval_ = 0;
    }
    if (logged_in_interval_ == singly) {
      ++left_out_;
      return false;
    }
    ++logged_in_interval_;
    return true;
  }
  std::uint64_t take_suppressed_count() { return std::exchange(left_out_, 0); }

  std::string invalid() const {
    return logged_in_interval_ <= singly
               ? ""
               : "the number of logged events exceeds the limit of the interval";
  }

 private:
  time_point until_{};
  std::uint32_t logged_in_interval_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace muster::history
