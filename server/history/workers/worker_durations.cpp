#include "server/history/workers/worker_durations.hpp"

#include <algorithm>

namespace muster::history {
namespace {

constexpr std::uint64_t key_of(std::uint32_t task, function_id f) {
  return std::uint64_t{task} << 32 | raw(f);
}

std::uint32_t number_of_minute(time_point t) {
  return static_cast<std::uint32_t>(t.time_since_epoch() / std::chrono::minutes(1));
}

}  // namespace

void worker_durations::fold(changes const& c, names const& named, time_point now) {
  advance(now);
  for (auto const& w : c.workers)
    if (w.here) attach(w);  // executions that ended in this step still use the number
  for (auto const& e : c.ended)
    if (e.worker != worker_number{} && e.of.as == closure_state::succeeded)
      add(e.worker, named.of(e.of.function), e.of.finished - e.of.started);
  for (auto const& a : c.attempts)
    if (a.how == attempt_end::succeeded) add(a.worker, named.of(a.function), a.ended - a.started);
}

void worker_durations::restore(lane_key const& task, span_view const& s) {
  if (s.failed > 0 || s.state != span_state::succeeded || s.function == several_functions) return;
  advance(s.started + s.lasted);
  auto const number = task_of(task);
  if (number == none) return;
  if (auto* const to = sum_of(number, s.function)) {
    to->count += s.count;
    to->total += s.busy;
  }
}

void worker_durations::attach(worker_changed const& w) {
  if (raw(w.worker) >= streams_.size()) streams_.resize(raw(w.worker) + std::size_t{1});
  streams_[raw(w.worker)] = {task_of({w.job, w.index})};
}

std::uint32_t worker_durations::task_of(lane_key const& name) {
  auto const known = numbers_.find(name);
  if (known != numbers_.end()) {
    tasks_[known->second].used = now_;
    return known->second;
  }
  auto number = static_cast<std::uint32_t>(tasks_.size());
  if (number < workers_max) {
    tasks_.emplace_back();
  } else if (auto const unused = unused_task()) {
    number = *unused;
    numbers_.erase(tasks_[number].name);
    for (auto& s : streams_)
      if (s.task == number) s = {};
  } else {
    return none;
  }
  tasks_[number] = {name, now_, {}};
  numbers_.emplace(name, number);
  return number;
}

std::optional<std::uint32_t> worker_durations::unused_task() {
  auto const oldest = std::min_element(
      tasks_.begin(), tasks_.end(), [](auto const& a, auto const& b) { return a.used < b.used; });
  if (oldest == tasks_.end() || oldest->used + minutes_kept > now_) return {};
  return static_cast<std::uint32_t>(oldest - tasks_.begin());
}

void worker_durations::add(worker_number w, function_id f, duration took) {
  if (raw(w) >= streams_.size()) return;
  auto& s = streams_[raw(w)];
  if (s.task == none) return;
  if (s.minute != now_ || s.function != raw(f)) s = {s.task, raw(f), now_, sum_of(s.task, f)};
  if (!s.last) return;
  ++s.last->count;
  s.last->total += std::max(took, duration{});
}

// Returns null at the limit.
worker_durations::sum* worker_durations::sum_of(std::uint32_t task, function_id f) {
  auto& sums = tables_.back().sums;
  tasks_[task].used = now_;
  auto const key = key_of(task, f);
  auto const known = sums.find(key);
  if (known != sums.end()) return &known->second;
  return sums.size() < pairs_max ? &sums[key] : nullptr;
}

// Time can go back by a moment when records are restored; the current minute then remains.
void worker_durations::advance(time_point now) {
  auto const minute = number_of_minute(now);
  if (!tables_.empty() && minute <= now_) return;
  if (!tables_.empty()) {
    finish_minute();
    auto const gap = std::min<std::size_t>(minute - now_, minutes_kept);
    for (std::size_t i = 1; i < gap; ++i)
      for (auto& t : tasks_) t.minutes[(now_ + i) % minutes_kept] = {};
  }
  now_ = minute;
  tables_.push_back({minute, {}});
  while (tables_.front().minute + window_minutes <= minute) tables_.pop_front();
  current_.clear();
  computed_ = {};
}

std::vector<duration_sum> worker_durations::sums(std::size_t tables) const {
  std::vector<duration_sum> all;
  for (auto t = tables_.end() - static_cast<std::ptrdiff_t>(tables); t != tables_.end(); ++t)
    for (auto const& [key, s] : t->sums)
      all.push_back({static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key),
                     s.count, s.total});
  return all;
}

void worker_durations::finish_minute() {
  computed_ = {};
  compute(time_point(std::chrono::minutes(now_ + 1)));
  for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
    auto const found = current_.find(i);
    tasks_[i].minutes[now_ % minutes_kept] =
        found == current_.end() ? minute_ratios{} : found->second;
  }
}

void worker_durations::compute(time_point now) {
  if (computed_ != time_point{} && now - computed_ < computed_for) return;
  computed_ = now;
  current_.clear();
  for (auto const& r : compare_workers(sums(1), 1))
    current_[r.worker].minute = static_cast<float>(r.ratio);
  for (auto const& r : compare_workers(sums(tables_.size()), executions_min))
    current_[r.worker].window = static_cast<float>(r.ratio);
}

// The last is the current minute.
std::array<minute_ratios, worker_durations::minutes_kept> worker_durations::hour(
    std::uint32_t task) const {
  std::array<minute_ratios, minutes_kept> all{};
  for (std::size_t i = 0; i + 1 < minutes_kept; ++i)
    all[i] = tasks_[task].minutes[(now_ + 1 + i) % minutes_kept];
  if (auto const found = current_.find(task); found != current_.end()) all.back() = found->second;
  return all;
}

slowness_view worker_durations::of(lane_key const& task, time_point now) {
  auto const known = numbers_.find(task);
  if (known == numbers_.end()) return {};
  advance(now);
  compute(now);
  auto const all = hour(known->second);
  slowness_view v{all.back().window};
  if (auto const since = slow_since(all))
    v.since =
        time_point(std::chrono::minutes(now_)) - std::chrono::minutes(minutes_kept - 1 - *since);
  return v;
}

std::vector<worker_durations::point> worker_durations::course(lane_key const& task,
                                                              time_point now) {
  auto const known = numbers_.find(task);
  if (known == numbers_.end()) return {};
  advance(now);
  compute(now);
  std::vector<point> out;
  auto const all = hour(known->second);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].minute > 0)
      out.push_back(
          {time_point(std::chrono::minutes(now_)) - std::chrono::minutes(minutes_kept - 1 - i),
           all[i].minute});
  return out;
}

}  // namespace muster::history
