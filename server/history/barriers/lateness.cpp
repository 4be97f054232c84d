#include "server/history/barriers/lateness.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.hpp"

namespace muster::history {
namespace {

std::uint32_t microseconds(duration d) {
  auto const us = std::chrono::duration_cast<std::chrono::microseconds>(d).count();
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(us, 0, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

void lateness::note(coordination::barrier_instance which,
                    std::shared_ptr<coordination::participants const> who,
                    std::span<time_point const> came, time_point ended) {
  check(came.size() == who->size() && came.size() > 1,
        "every participant of a barrier must have an arrival time");
  if (who->back() >= by_task_.size()) by_task_.resize(who->back() + std::size_t{1});
  if (meetings_.size() == meetings_max) {
    add(meetings_.front(), -1, by_task_);
    meetings_.pop_front();
  }
  std::vector<time_point> sorted(came.begin(), came.end());
  auto const half = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), half, sorted.end());
  auto const median = *half;
  auto const [first, last] = std::minmax_element(came.begin(), came.end());
  auto const last_one = (*who)[static_cast<std::size_t>(last - came.begin())];
  meeting m{.which = std::move(which),
            .ended = ended,
            .who = std::move(who),
            .arrival_us = {},
            .median_us = microseconds(median - *first),
            .last = last_one,
            .late = *last - median,
            .spread = *last - *first};
  m.arrival_us.reserve(came.size());
  for (auto const at : came) m.arrival_us.push_back(microseconds(at - *first));
  add(m, 1, by_task_);
  meetings_.push_back(std::move(m));
}

void lateness::add(meeting const& m, int times, std::vector<sums>& to) {
  for (std::size_t i = 0; i < m.who->size(); ++i) {
    auto& s = to[(*m.who)[i]];
    s.meetings += times;
    s.late_us += std::int64_t{m.late_us(i)} * times;
  }
  to[m.last].last += times;
}

std::vector<coordination::task_index> lateness::worst(std::size_t limit) const {
  std::vector<coordination::task_index> tasks;
  for (coordination::task_index t = 0; t < by_task_.size(); ++t)
    if (by_task_[t].last > 0 || by_task_[t].late_us > 0) tasks.push_back(t);
  auto const worse = [this](coordination::task_index a, coordination::task_index b) {
    auto const &x = by_task_[a], &y = by_task_[b];
    if (x.last != y.last) return x.last > y.last;
    return x.late_us != y.late_us ? x.late_us > y.late_us : a < b;
  };
  auto const shown = std::min(limit, tasks.size());
  std::partial_sort(tasks.begin(), tasks.begin() + static_cast<std::ptrdiff_t>(shown), tasks.end(),
                    worse);
  tasks.resize(shown);
  return tasks;
}

duration lateness::latest(coordination::task_index t) const {
  std::uint32_t most = 0;
  for (auto const& m : meetings_) {
    auto const it = std::lower_bound(m.who->begin(), m.who->end(), t);
    if (it != m.who->end() && *it == t)
      most = std::max(most, m.late_us(static_cast<std::size_t>(it - m.who->begin())));
  }
  return std::chrono::microseconds(most);
}

std::string lateness::violated_invariant() const {
  if (meetings_.size() > meetings_max) return "the number of stored barriers exceeds the limit";
  std::vector<sums> again(by_task_.size());
  for (auto const& m : meetings_) add(m, 1, again);
  return again == by_task_ ? std::string()
                           : "the sums of a task's lateness do not match the stored barriers";
}

}  // namespace muster::history
