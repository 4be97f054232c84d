// Most recent events of the event feed, numbered from 1 without gaps. Used only on the engine
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "server/hub/log_event.hpp"

namespace muster::server {

struct event {
  std::uint64_t number = 0;
  core::time_point at{};
  log_event what;
};

class event_log {
 public:
  /// At `size_max`, a further event replaces the oldest event, and `first` increases.
  explicit event_log(std::size_t size_max = 10'000) : size_max_(size_max) {}

  void add(core::time_point at, log_event what) {
    if (events_.size() == size_max_) events_.pop_front();
    events_.push_back({++last_, at, std::move(what)});
  }
  /// Returns the oldest stored event's number; `last` plus one if the log is empty.
  std::uint64_t first() const { return last_ + 1 - events_.size(); }
  std::uint64_t last() const { return last_; }
  /// Returns up to `limit` events after `number`, oldest first.
  std::vector<event> after(std::uint64_t number, std::size_t limit) const {
    auto const from = std::max(number + 1, first());
    if (number >= last_ || events_.empty()) return {};
    auto const begin = events_.begin() + static_cast<std::ptrdiff_t>(from - first());
    auto const count = std::min<std::size_t>(limit, last_ + 1 - from);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }
  /// Returns the newest `limit` events after `number` that match `fits`, oldest first.
  template <class Fits>
  std::vector<event> newest(std::uint64_t number, std::size_t limit, Fits const& fits) const {
    std::vector<event> found;
    for (auto it = events_.rbegin(); it != events_.rend(); ++it) {
      if (it->number <= number || found.size() == limit) break;
      if (fits(*it)) found.push_back(*it);
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

 private:
  std::size_t const size_max_;
  std::deque<event> events_;
  std::uint64_t last_ = 0;
};

}  // namespace muster::server
