#include "server/core/coordination/barriers/barrier_table.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.hpp"

namespace muster::core::coordination {
namespace {

// Maximum accepted counter, chosen so that an increment cannot overflow.
constexpr std::int64_t counter_max = std::int64_t{1} << 62;

std::shared_ptr<participants const> all_of(task_index size) {
  auto who = std::make_shared<participants>(size);
  std::iota(who->begin(), who->end(), task_index{0});
  return who;
}

time_point after(time_point now, duration timeout) {
  constexpr duration far = std::chrono::hours(24 * 365 * 10);
  return now + std::min(timeout, far);
}

}  // namespace

barrier_table::barrier_table(task_index tasks, duration stuck_after, limits const& l,
                             change_log log)
    : limits_(l), stuck_after_(stuck_after), everybody_(all_of(tasks)), log_(log) {}

barrier const* barrier_table::find(std::string_view id) const {
  auto const it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : all_.find(it->second);
}

barrier_table::instance barrier_table::instance_for(arrival const& a, barrier const* b,
                                                    time_point now) {
  auto const once = a.purpose != barrier_purpose::user;
  if (!b) {
    auto const believed = has_forgotten_ && a.counter > 0 && a.counter < counter_max;
    return {start(a, believed ? a.counter : 0, now).number, true};
  }
  if (!b->running && !once && b->counter < counter_max &&
      (a.counter == b->counter + 1 || a.begins_again))
    return {start(a, b->counter + 1, now).number, true};
  return {b->number, false};
}

barrier& barrier_table::start(arrival const& a, std::int64_t counter, time_point now) {
  auto const known = by_id_.find(a.id);
  auto const n = known != by_id_.end() ? known->second : all_.add({});
  auto& b = all_.at(n);
  if (known == by_id_.end()) {
    b.number = n;
    b.id = a.id;
    b.whole_cluster = !a.who;
    b.who = a.who ? kept(a.who) : everybody_;
    by_id_.emplace(b.id, n);
    b.place = running_.insert(running_.end(), n);
  } else {
    check(!b.running, "a barrier must not start again before its previous instance has ended");
    running_.splice(running_.end(), finished_, b.place);
  }
  b.counter = counter;
  b.purpose = a.purpose;
  b.running = true;
  b.reported_stuck = false;
  b.result_before = std::exchange(b.result, nullptr);
  b.first = no_task;
  b.arrived_count = 0;
  b.gave_up_count = 0;
  b.missing_stale = true;
  b.ended = {};
  b.calls.assign(b.who->size(), {});
  b.came.assign(b.who->size(), {});
  b.gave_up.assign(b.who->size(), false);
  b.started = b.waiting_since = now;
  b.deadline = a.visits ? never : after(now, a.timeout);
  append_begun(b, log_);
  schedule(b);
  return b;
}

// Returns a list that thousands of barriers with the same participants share.
std::shared_ptr<participants const> barrier_table::kept(std::shared_ptr<participants const> who) {
  constexpr std::size_t sets_max = 16;
  auto const same = [&](auto const& s) { return s == who || *s == *who; };
  auto it = std::find_if(sets_.begin(), sets_.end(), same);
  if (it == sets_.end()) {
    if (sets_.size() == sets_max) sets_.erase(sets_.begin());
    sets_.push_back(std::move(who));
  } else {
    std::rotate(it, it + 1, sets_.end());
  }
  return sets_.back();
}

arrival_fit barrier_table::fit(barrier_number n, arrival const& a) const {
  auto const& b = all_.at(n);
  if (a.counter != b.counter && !a.begins_again) return arrival_fit::miscounted;
  if (a.with_unknown) return arrival_fit::unknown_participant;
  auto const same = a.who ? a.who == b.who || *a.who == *b.who : b.whole_cluster;
  if (!same) return arrival_fit::other_participants;
  return a.task != no_task && b.has(a.task) ? arrival_fit::fits : arrival_fit::no_participant;
}

bool barrier_table::arrive(barrier_number n, arrival const& a, call_id call, time_point now) {
  auto& b = all_.at(n);
  auto const at = b.position(a.task);
  b.calls[at] = call;
  b.came[at] = now;
  b.missing_stale = true;
  if (b.gave_up[at]) --b.gave_up_count;
  b.gave_up[at] = false;
  if (b.first == no_task) b.first = a.task;
  log_.note(barrier_moved{n, now, a.task, barrier_move::came});
  auto const deadline = b.deadline;
  if (b.arrived_count == 0) {
    b.waiting_since = now;
    // Callers that have left a registration do not shorten its next attempt.
    if (b.purpose == barrier_purpose::registration) b.deadline = now + a.timeout;
  }
  auto const first_agent = b.deadline == never && !a.visits;
  if (first_agent) b.deadline = after(now, a.timeout);
  if (b.deadline != deadline) log_.note(barrier_due{n, b.deadline});
  if (++b.arrived_count == b.who->size()) return true;
  if (b.arrived_count == 1 || first_agent) schedule(b);
  return false;
}

void barrier_table::step_out(barrier_number n, task_index t, barrier_move how, time_point now) {
  auto& b = all_.at(n);
  log_.note(barrier_moved{n, now, t, how});
  b.calls[b.position(t)] = {};
  --b.arrived_count;
  b.missing_stale = true;
}

void barrier_table::note_gave_up(barrier_number n, task_index t, time_point now) {
  auto& b = all_.at(n);
  log_.note(barrier_moved{n, now, t, barrier_move::gave_up});
  b.gave_up[b.position(t)] = true;
  ++b.gave_up_count;
  b.missing_stale = false;
}

barrier_end barrier_table::end(barrier_number n, barrier_verdict v, time_point now) {
  auto& b = all_.at(n);
  check(b.running, "a barrier must not end twice");
  b.result = std::move(v.fault);
  barrier_end e{b.instance(), b.purpose, b.result, b.who, {}};
  e.waiters.reserve(b.arrived_count);
  for (std::size_t i = 0; i < b.calls.size(); ++i)
    if (b.calls[i] != call_id{}) e.waiters.push_back({b.calls[i], (*b.who)[i]});
  finish(b, now, v.how, v.by);
  return e;
}

void barrier_table::undo_if_void(barrier_number n, time_point now) {
  auto& b = all_.at(n);
  if (!b.running || b.arrived_count > 0 || b.deadline != never) return;
  b.result = std::move(b.result_before);
  if (--b.counter >= 0) return finish(b, now, barrier_outcome::undone);
  log_.note(barrier_ended{.barrier = n, .counter = -1, .how = barrier_outcome::undone});
  set_due(b, never);
  running_.erase(b.place);
  by_id_.erase(b.id);
  all_.take(n);
}

void barrier_table::finish(barrier& b, time_point now, barrier_outcome how, task_index by) {
  using times = std::vector<time_point>;
  auto came = !b.result && b.purpose == barrier_purpose::user
                  ? std::make_shared<times const>(std::exchange(b.came, {}))
                  : nullptr;
  log_.add<barrier_ended>(b.number, b.counter, b.result, now, b.arrived_count, by, how,
                          std::move(came));
  set_due(b, never);
  b.ended = now;
  b.running = false;
  std::vector<call_id>().swap(b.calls);
  std::vector<time_point>().swap(b.came);
  std::vector<bool>().swap(b.gave_up);
  std::string().swap(b.missing);
  finished_.splice(finished_.end(), running_, b.place);
  if (finished_.size() <= limits_.finished_barriers_max || finished_.front() == b.number) return;
  has_forgotten_ = true;
  log_.note(barrier_forgotten{finished_.front(), all_.at(finished_.front()).id});
  by_id_.erase(all_.at(finished_.front()).id);
  all_.take(finished_.front());
  finished_.pop_front();
}

barrier_fact barrier_table::fact_of(std::string const& id) const {
  auto const* b = find(id);
  if (!b || (b->running && b->counter == 0)) return {.id = id, .forgotten = true};
  barrier_fact f{.id = id, .counter = b->counter, .purpose = static_cast<std::uint8_t>(b->purpose)};
  if (!b->whole_cluster) f.who = *b->who;
  f.result = b->result;
  f.result_before = b->result_before;
  f.ended = b->ended;
  if (!b->running) return f;
  --f.counter;  // the next use of the barrier began in the same step
  f.result = std::exchange(f.result_before, nullptr);
  f.ended = b->started;
  return f;
}

void barrier_table::restore(barrier_fact const& f) {
  auto const n = all_.add({});
  auto& b = all_.at(n);
  b.number = n;
  b.id = f.id;
  b.counter = f.counter;
  b.purpose = static_cast<barrier_purpose>(f.purpose);
  b.whole_cluster = !f.who;
  b.who = f.who ? kept(std::make_shared<participants const>(*f.who)) : everybody_;
  b.result = f.result;
  b.result_before = f.result_before;
  b.started = b.ended = f.ended;
  by_id_.emplace(b.id, n);
  b.place = finished_.insert(finished_.end(), n);
  // The earlier process may have removed barriers.
  if (finished_.size() >= limits_.finished_barriers_max) has_forgotten_ = true;
  write_state(b, log_);
}

void barrier_table::append_begun(barrier const& b, change_log const& log) {
  log.add<barrier_begun>(b.number, b.id, b.counter, b.purpose, b.who, b.started, b.deadline);
}

void barrier_table::write_state(change_log const& log) const {
  for (auto const n : finished_) write_state(at(n), log);
  for (auto const n : running_) write_state(at(n), log);
}

// Writes the current state without the history, because the first task may have left, and
// waiting_since may belong to another task.
void barrier_table::write_state(barrier const& b, change_log const& log) {
  auto const say = [&](task_index t, time_point at, barrier_move how) {
    log.note(barrier_moved{b.number, at, t, how});
  };
  append_begun(b, log);
  if (b.first != no_task) say(b.first, b.waiting_since, barrier_move::came);
  if (!b.running)
    return log.note(barrier_ended{.barrier = b.number,
                                  .counter = b.counter,
                                  .result = b.result,
                                  .ended = b.ended,
                                  .arrived = b.arrived_count});
  for (std::size_t i = 0; i < b.calls.size(); ++i)
    if (b.calls[i] != call_id{}) say((*b.who)[i], b.came[i], barrier_move::came);
  if (b.first != no_task && b.call_of(b.first) == call_id{})
    say(b.first, b.started, barrier_move::withdrawn);
  for (std::size_t i = 0; i < b.calls.size(); ++i)
    if (b.gave_up[i]) say((*b.who)[i], b.started, barrier_move::gave_up);
}

// Sets the deadline, or the time at which the barrier is reported as stuck.
void barrier_table::schedule(barrier& b) {
  auto const talks = b.purpose == barrier_purpose::user && !b.reported_stuck && b.arrived_count > 0;
  set_due(b, talks ? std::min(b.deadline, b.waiting_since + stuck_after_) : b.deadline);
}

// Checks again, because the waiting tasks may have changed since the reminder was set.
bool barrier_table::remind(barrier_number n, time_point now) {
  auto& b = all_.at(n);
  b.reported_stuck = b.arrived_count > 0 && b.waiting_since + stuck_after_ <= now;
  schedule(b);
  return b.reported_stuck;
}

void barrier_table::set_due(barrier& b, time_point due) {
  if (b.due != never) due_.erase({b.due, b.id});
  b.due = due;
  if (due != never) due_.emplace(std::pair(due, std::string_view(b.id)), b.number);
}

void barrier_table::keep_missing(barrier_number n, std::string text, time_point now) {
  auto& b = all_.at(n);
  b.missing = std::move(text);
  b.missing_at = now;
  b.missing_stale = false;
}

std::string barrier_table::broken(barrier const& b) const {
  if (!b.running) return "barrier " + b.id + " is listed as running but has ended";
  auto const arrived =
      b.calls.size() - std::size_t(std::count(b.calls.begin(), b.calls.end(), call_id{}));
  if (std::size_t(std::count(b.gave_up.begin(), b.gave_up.end(), true)) != b.gave_up_count)
    return "barrier " + b.id + ": the number of tasks that stopped waiting is wrong";
  if (arrived != b.arrived_count)
    return "barrier " + b.id + ": the number of tasks that have arrived is wrong";
  if (arrived == b.who->size())
    return "barrier " + b.id + " is still running although all tasks have arrived";
  return {};
}

std::string barrier_table::violated_invariant() const {
  for (auto const n : running_)
    if (auto text = broken(at(n)); !text.empty()) return text;
  for (auto const n : finished_)
    if (at(n).running || !at(n).calls.empty())
      return "barrier " + at(n).id + " has ended but still has waiting calls";
  if (finished_.size() > limits_.finished_barriers_max)
    return "the number of stored finished barriers exceeds the limit";
  if (by_id_.size() != running_.size() + finished_.size() || by_id_.size() != all_.size())
    return "a barrier is neither running nor finished";
  return {};
}

}  // namespace muster::core::coordination
