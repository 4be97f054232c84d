#include "server/history/jobs/job_times.hpp"

#include <algorithm>

#include "base/percentile.hpp"

namespace muster::history {
namespace {

constexpr std::size_t row_bytes = sizeof(run_times) + 32;

// Returns whether the attempt failed, or nothing if no worker answered.
std::optional<bool> answered(attempt_end how) {
  switch (how) {
    case attempt_end::succeeded:
    case attempt_end::cancelled:
      return false;
    case attempt_end::failed:
    case attempt_end::stale_handle:
    case attempt_end::dependency_lost:
    case attempt_end::timed_out:
    case attempt_end::user_error:
      return true;
    default:
      return {};
  }
}

std::vector<job_times_view::row> sorted(std::vector<job_times_view::row> rows) {
  std::sort(rows.begin(), rows.end(), [](auto const& a, auto const& b) {
    return a.times.busy() != b.times.busy() ? a.times.busy() > b.times.busy() : a.name < b.name;
  });
  return rows;
}

}  // namespace

std::size_t run_times::add(duration d, bool failed) {
  d = std::max(d, duration{});
  ++ran_;
  failed_ += failed;
  busy_ += d;
  longest_ = std::max(longest_, d);
  auto const bucket = static_cast<std::uint16_t>(histogram::bucket_of(d));
  auto at = std::lower_bound(cells_.begin(), cells_.end(), bucket,
                             [](cell const& c, std::uint16_t b) { return c.bucket < b; });
  bool const is_new = at == cells_.end() || at->bucket != bucket;
  if (is_new) at = cells_.insert(at, {.bucket = bucket, .least = d, .most = d});
  ++at->count;
  at->failed += failed;
  at->least = std::min(at->least, d);
  at->most = std::max(at->most, d);
  return is_new ? sizeof(cell) : 0;
}

duration run_times::percentile(double part) const {
  return percentile_of_groups(cells_, part);
}

void job_times::learn(worker_changed const& w) {
  if (!w.here) return;  // attempts that ended in this step still use the number
  auto const task = w.job + ":" + std::to_string(w.index);
  auto known = task_numbers_.find(task);
  if (known == task_numbers_.end() && tasks_.size() < tasks_max) {
    known = task_numbers_.emplace(task, static_cast<std::uint32_t>(tasks_.size())).first;
    tasks_.push_back(task);
  }
  if (raw(w.worker) >= workers_.size()) workers_.resize(raw(w.worker) + std::size_t{1}, others);
  workers_[raw(w.worker)] = known == task_numbers_.end() ? others : known->second;
}

void job_times::fold(changes const& c, names const& named) {
  for (auto const& w : c.workers) learn(w);
  for (auto const& e : c.ended) {
    bool const known = e.worker != worker_number{} || (e.restored && e.of.attempt > 0);
    if (!known || e.of.started == time_point{}) continue;
    add(e.of.session, named.of(e.of.function),
        e.worker == worker_number{} ? others : task_of(e.worker), e.of.finished - e.of.started,
        e.of.as == closure_state::failed);
  }
  for (auto const& a : c.attempts)
    if (auto const failed = answered(a.how))
      add(a.session, named.of(a.function), task_of(a.worker), a.ended - a.started, *failed);
  for (auto const& s : c.sessions_released) {
    auto const it = jobs_.find(s.session);
    if (it == jobs_.end()) continue;
    bytes_ -= it->second.bytes;
    jobs_.erase(it);
  }
  if (bytes_ > bytes_max) make_room();
}

std::size_t job_times::add(rows& to, std::uint32_t which, std::size_t rows_max, duration d,
                           bool failed) {
  auto it = to.find(which);
  std::size_t grown = 0;
  if (it == to.end()) {
    it = to.try_emplace(to.size() < rows_max ? which : others).first;
    if (it->second.ran() == 0) grown = row_bytes;
  }
  return grown + it->second.add(d, failed);
}

void job_times::add(session_id of, function_id function, std::uint32_t task, duration d,
                    bool failed) {
  if (of == session_id{}) return;
  auto& j = jobs_[of];
  j.all.add(d, failed);
  if (!j.detailed) return;
  auto const grown = add(j.functions, raw(function), functions_max, d, failed) +
                     add(j.workers, task, workers_max, d, failed);
  j.bytes += grown;
  bytes_ += grown;
}

void job_times::make_room() {
  for (auto it = jobs_.begin(); it != jobs_.end() && bytes_ > bytes_max; ++it) {
    auto& j = it->second;
    if (!j.detailed) continue;
    bytes_ -= std::exchange(j.bytes, 0);
    j.detailed = false;
    j.functions = {};
    j.workers = {};
  }
}

void job_times::for_each_function(std::function<void(function_id)> const& use) const {
  for (auto const& [id, j] : jobs_)
    for (auto const& [number, times] : j.functions)
      if (number != others) use(function_id{number});
}

std::optional<job_times_view> job_times::find(session_id job, names const& named) const {
  auto const it = jobs_.find(job);
  if (it == jobs_.end()) return {};
  auto const& j = it->second;
  job_times_view v{j.all, {}, {}, j.detailed};
  for (auto const& [number, times] : j.functions)
    v.functions.push_back(
        {number == others ? std::string() : named[function_id{number}].name, times});
  for (auto const& [number, times] : j.workers)
    v.workers.push_back({number == others ? std::string() : tasks_[number], times});
  v.functions = sorted(std::move(v.functions));
  v.workers = sorted(std::move(v.workers));
  return v;
}

}  // namespace muster::history
