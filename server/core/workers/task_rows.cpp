#include "server/core/workers/task_rows.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

task_row* task_rows::find(std::string_view job, std::int64_t index) {
  auto const it = rows_.find(key{std::string(job), index});
  return it == rows_.end() ? nullptr : it->second.get();
}

task_row const* task_rows::find(std::string_view job, std::int64_t index) const {
  return const_cast<task_rows*>(this)->find(job, index);
}

task_row* task_rows::find(std::string_view job, core::incarnation process) {
  auto const it = by_incarnation_.find(process);
  return it == by_incarnation_.end() || it->second->job != job ? nullptr : it->second;
}

// A row in ERROR keeps its index until it is deleted, so that users see which task was lost. A
// deregistered task's index is free immediately, unless its worker program replaces the ended
// process.
std::int64_t task_rows::lowest_free(std::string const& job) {
  auto const tally = tallies_.find(job);
  if (tally == tallies_.end()) return 0;
  auto& hint = tally->second.free_hint;
  for (auto it = rows_.lower_bound(key{job, hint}); it != rows_.end(); ++it, ++hint) {
    auto const& t = *it->second;
    if (t.job != job || t.index != hint) break;
    if (t.state == task_state::disconnected && !t.awaits_replacement) break;
  }
  return hint;
}

// Finds a lost task for a worker program that was restarted on its host. The program then continues
// with the indices of its former tasks.
task_row const* task_rows::lost_before(worker_spec const& spec) const {
  if (spec.group == 0 || count(task_state::error) + count(task_state::disconnected) == 0)
    return nullptr;
  for (auto it = rows_.lower_bound(key{spec.job, 0}); it != rows_.end(); ++it) {
    auto const& t = *it->second;
    if (t.job != spec.job) break;
    bool const lost = t.state == task_state::error || t.awaits_replacement;
    if (t.spec.index >= 0) continue;  // the worker requests its index explicitly
    if (lost && t.spec.group != 0 && t.spec.host == spec.host && !has_present_siblings(t))
      return &t;
  }
  return nullptr;
}

std::int64_t task_rows::next_index(worker_spec const& spec, reckoned const& with) {
  auto const& job = spec.job;
  if (spec.last_index >= 0) {
    auto const wanted = std::max<std::int64_t>(declared(job), with(job));
    auto const counted = std::max<std::int64_t>(wanted, spec.group_size);
    auto const* had = find(job, spec.last_index);
    if ((wanted == 0 || spec.last_index < counted) && (!had || !had->present()))
      return spec.last_index;
  }
  if (auto const* lost = lost_before(spec)) return lost->index;
  auto const free = lowest_free(job);
  if (count(task_state::error) == 0) return free;
  auto const end = std::min(free, with(job));
  for (auto it = rows_.lower_bound(key{job, 0}); it != rows_.end(); ++it) {
    auto const& t = *it->second;
    if (t.job != job || t.index >= end) break;
    if (t.state == task_state::error && !has_present_siblings(t)) return t.index;
  }
  return free;
}

std::uint32_t task_rows::declared(std::string_view job) const {
  for (auto const& [name, tasks] : config_.declared_jobs)
    if (name == job) return tasks;
  return 0;
}

std::uint32_t task_rows::tasks_of(std::string const& job) const {
  auto known = declared(job);
  if (auto const tally = tallies_.find(job); tally != tallies_.end())
    known = std::max(known, tally->second.occupied + tally->second.missing);
  auto it = rows_.upper_bound(key{job, std::numeric_limits<std::int64_t>::max()});
  if (it == rows_.begin() || (--it)->first.first != job) return known;
  auto const& last = *it->second;
  // A worker program with an explicit index serves consecutive indices, starting at that index.
  auto const following = last.spec.index >= 0 && last.spec.group != 0
                             ? last.spec.group_size - 1 - last.spec.group_position
                             : 0;
  return std::max(known, static_cast<std::uint32_t>(last.index + 1) + following);
}

void task_rows::add_to(tallies& all, task_row const& t) {
  auto& tally = all[t.job];
  ++tally.rows;
  tally.occupied += t.state != task_state::disconnected;
  if (t.spec.group == 0 || t.spec.index >= 0) return;
  auto& g = tally.groups[t.spec.group];
  tally.missing -= g.missing();
  g.size = t.spec.group_size;
  ++g.rows;
  g.present += t.present();
  tally.missing += g.missing();
}

void task_rows::recount(task_row const& t) {
  add_to(tallies_, t);
  ++version_;
}

void task_rows::uncount(task_row const& t) {
  auto const it = tallies_.find(t.job);
  check(it != tallies_.end(), "a row must be counted");
  auto& tally = it->second;
  --tally.rows;
  tally.occupied -= t.state != task_state::disconnected;
  if (t.spec.group == 0 || t.spec.index >= 0) return;
  auto const found = tally.groups.find(t.spec.group);
  check(found != tally.groups.end(), "a row must be counted in its group");
  auto& g = found->second;
  tally.missing -= g.missing();
  --g.rows;
  g.present -= t.present();
  tally.missing += g.missing();
  if (g.rows == 0) tally.groups.erase(found);
}

bool task_rows::has_present_siblings(task_row const& t) const {
  if (t.spec.group == 0 || t.spec.index >= 0) return false;
  return tallies_.at(t.job).groups.at(t.spec.group).present > 0;
}

std::string task_rows::invalid() const {
  tallies all;
  for (auto const& [k, t] : rows_) add_to(all, *t);
  for (auto const& [job, tally] : tallies_) {
    auto const& real = all[job];
    std::uint32_t missing = 0;
    bool same = tally.rows > 0 && tally.rows == real.rows && tally.occupied == real.occupied &&
                tally.groups.size() == real.groups.size();
    for (auto const& [id, g] : tally.groups) {
      auto const it = real.groups.find(id);
      same = same && it != real.groups.end() && g.rows == it->second.rows &&
             g.present == it->second.present;
      missing += g.missing();
    }
    if (!same || missing != tally.missing)
      return "the counts of job " + job + " do not match its tasks";
  }
  return {};
}

bool task_rows::make_room() {
  if (rows_.size() < config_.tasks_max) return true;
  task_row* oldest = nullptr;
  for (auto const& [k, t] : rows_)
    if (!t->present() && (!oldest || t->since < oldest->since)) oldest = t.get();
  if (oldest) erase(*oldest);
  return oldest != nullptr;
}

result<task_row*> task_rows::admit(time_point now, worker_spec const& spec, reckoned const& with) {
  task_row* t = nullptr;
  if (spec.index >= 0) {
    t = find(spec.job, spec.index);
  } else {
    t = find(spec.job, spec.incarnation);
    if (!t && spec.replaces != core::incarnation{}) t = find(spec.job, spec.replaces);
  }
  auto const index = t ? t->index : spec.index >= 0 ? spec.index : next_index(spec, with);
  if (!t) t = find(spec.job, index);
  if (t) return t;

  if (!make_room())
    return status{code::resource_exhausted, "the server has " + std::to_string(rows_.size()) +
                                                " tasks, which is the limit (--tasks-max)"};
  auto row = std::make_unique<task_row>();
  t = row.get();
  t->row = ++wide_.last_row;
  t->job = spec.job;
  t->index = index;
  t->state = task_state::disconnected;
  t->since = now;
  rows_.emplace(key{t->job, index}, std::move(row));
  recount(*t);
  ++counts_[static_cast<std::size_t>(t->state)];
  report_change(*t);
  return t;
}

void task_rows::arrived(time_point now, task_row& t, worker_spec spec) {
  if (t.spec.incarnation != spec.incarnation) {
    forget_incarnation(t);
    if (t.spec.incarnation != core::incarnation{}) ++t.restarts;
  }
  uncount(t);
  t.spec = std::move(spec);
  recount(t);
  t.awaits_replacement = false;
  by_incarnation_[t.spec.incarnation] = &t;
  t.error.clear();
  t.claims.clear();
  t.lost_since = never;
  given_up_ -= std::exchange(t.given_up, false);
  t.last_seen = now;
  t.state == task_state::connected ? report_change(t) : set(now, t, task_state::connected);
  next_sweep_ = std::min(next_sweep_, now + config_.late_after());
}

void task_rows::left(time_point now, task_row& t, task_state state, std::string why) {
  t.error = std::move(why);
  t.worker = nullptr;
  t.lost_since = state == task_state::error ? now : never;
  set(now, t, state);
  auto& hint = tallies_.at(t.job).free_hint;
  if (state == task_state::disconnected) hint = std::min(hint, t.index);
  next_sweep_ = std::min(next_sweep_, now + config_.task_retention);
}

void task_rows::set(time_point now, task_row& t, task_state s) {
  if (t.state == s) return;
  --counts_[static_cast<std::size_t>(t.state)];
  ++counts_[static_cast<std::size_t>(s)];
  uncount(t);
  t.state = s;
  recount(t);
  t.since = now;
  report_change(t);
}

void task_rows::report_change(task_row const& t, bool gone) {
  changes_.tasks.push_back(
      {t.job, t.index, t.state, t.spec.incarnation, t.since, t.given_up, t.cordoned, gone});
}

void task_rows::forget_incarnation(task_row const& t) {
  auto const it = by_incarnation_.find(t.spec.incarnation);
  if (it != by_incarnation_.end() && it->second == &t) by_incarnation_.erase(it);
}

void task_rows::erase(task_row& t) {
  check(!t.worker, "the row of a task must not be erased while its worker is attached");
  report_change(t, true);
  forget_incarnation(t);
  --counts_[static_cast<std::size_t>(t.state)];
  given_up_ -= t.given_up;
  forgot_ = true;
  ++version_;
  if (t.state == task_state::disconnected && has_present_siblings(t)) shrink_group(t);
  uncount(t);
  auto const tally = tallies_.find(t.job);
  tally->second.free_hint = std::min(tally->second.free_hint, t.index);
  if (tally->second.rows == 0) tallies_.erase(tally);
  rows_.erase(key{t.job, t.index});
}

// Subtracts a task that has left for good from the announced size of its group.
void task_rows::shrink_group(task_row const& left) {
  for (auto it = rows_.lower_bound(key{left.job, 0}); it != rows_.end(); ++it) {
    auto& t = *it->second;
    if (t.job != left.job) break;
    if (t.spec.group != left.spec.group || t.spec.group_size <= 1) continue;
    uncount(t);
    --t.spec.group_size;
    recount(t);
  }
}

task_rows::sweep_result task_rows::sweep(time_point now, duration stalled,
                                         std::function<bool(task_row const&)> const& awaited) {
  sweep_result out;
  next_sweep_ = never;
  std::vector<task_row*> old;
  for (auto const& [k, row] : rows_) {
    auto& t = *row;
    if (!t.present()) {
      // A deregistered task is given up only if a call waits for it.
      auto const surrender = t.given_up ? never : t.since + config_.recovery_timeout;
      bool const losing =
          !t.given_up && (t.lost_since != never || (surrender <= now && awaited(t)));
      if (losing && surrender <= now) out.given_up.push_back(&t);
      auto const end = t.since + config_.task_retention;
      if (end > now)
        next_sweep_ = std::min({next_sweep_, end, surrender > now ? surrender : never});
      else if (surrender > now && !t.given_up && awaited(t))
        next_sweep_ = std::min(next_sweep_, surrender);
      else if (surrender > now || !losing)
        old.push_back(&t);
      else
        // The task is first reported as given up.
        next_sweep_ = std::min(next_sweep_, now + config_.task_retention);
      continue;
    }
    t.last_seen = std::min(now, t.last_seen + stalled);
    auto const lost = t.last_seen + config_.heartbeat_timeout;
    auto const late = t.last_seen + config_.late_after();
    if (lost <= now) {
      out.silent.push_back(&t);
      continue;
    }
    if (late <= now) set(now, t, task_state::late);
    next_sweep_ = std::min(next_sweep_, late <= now ? lost : late);
  }
  for (auto* t : old) erase(*t);
  out.forgot = std::exchange(forgot_, false);
  return out;
}

}  // namespace muster::core
