// The newest lines in a deque; their numbers have no gaps.
#include "server/hub/event_log.hpp"

#include <algorithm>

namespace muster::server {

void event_log::add(core::time_point at, notice what) {
  if (events_.size() == size_max_) events_.pop_front();
  events_.push_back({++last_, at, std::move(what)});
}

std::vector<event> event_log::after(std::uint64_t number, std::size_t limit) const {
  auto const from = std::max(number + 1, first());
  if (number >= last_ || events_.empty()) return {};
  auto const begin = events_.begin() + static_cast<std::ptrdiff_t>(from - first());
  auto const count = std::min<std::size_t>(limit, last_ + 1 - from);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace muster::server
