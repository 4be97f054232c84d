// Dispatch, loss, failure and cancel.
#include "server/core/moves/closure_life.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "server/core/words/attempt_words.hpp"

namespace muster::core {

namespace {
// When it could be sent last.
time_point ready_at(closure_record const& r) {
  return r.details && r.details->ready_at != time_point{} ? r.details->ready_at : r.created;
}
}  // namespace

// What every closure goes through is inline, here and in closure_ends.cpp: a call each would be
// felt.
[[gnu::always_inline]] inline void closure_life::give(seat& w, slot c, closure_record& r) {
  bool const runs = scheduler_.hold(w, c);
  book_.send(c, w.number, runs, step_.now);
  if (runs) step_.metrics.queue_wait.add(step_.now - ready_at(r));
  if (w.by_name_only) stateful_.use(r.owner, {w.job, w.index});
  places_.release(r.place);
  r.place = roster_.of(w.number).place;
  places_.hold(r.place);
  if (auto& s = sessions_.of(r.owner); s.full) flow_.relieve(s);
  scheduler_.reserve(w, c);
}

void closure_life::take_up(seat& w, slot c, std::uint32_t attempt) {
  auto& r = closures_[c];
  if (r.delayed) {
    step_.alarms.clear(r.details->start_at, alarm_kind::start, raw(closures_.id_of(c)));
    scheduler_.end_deferral(c);
    book_.end_deferral(c);
    r.details->ready_at = step_.now;
  } else {
    scheduler_.unqueue(c);
  }
  r.attempt = attempt - 1;
  give(w, c, r);
}

// One that makes a lost value again is told what the lost one's was told.
std::uint32_t closure_life::declared_for_lost(closure_record const& r) const {
  slot const lost = closures_.find(closure_id{r.token});
  return lost == no_slot ? 0 : sessions_.of(closures_[lost].owner).spec.num_workers;
}

void closure_life::assign(seat& w, slot c) {
  auto& r = closures_[c];
  give(w, c, r);
  auto& a = step_.fx.assignments.emplace_back();
  a.closure = closures_.id_of(c);
  a.attempt = r.attempt;
  a.function = book_.functions.served(r.function);
  a.args = r.args;
  if (!w.by_name_only) {
    auto const& s = sessions_.of(r.owner);
    a.num_workers = s.delivery() == delivery::rebuild ? declared_for_lost(r) : s.spec.num_workers;
  }
  if (r.details && r.details->extras) {
    a.inputs = r.details->inputs;
    if (r.details->inputs || !r.details->extras->per_worker.empty()) a.extras = r.details->extras;
  }
}

void closure_life::start(seat& w, slot c, time_point at, bool reported) {
  scheduler_.start(w, c, reported);
  auto const since = began(c, at);
  book_.start(c, since);
}

time_point closure_life::began(slot c, time_point at) {
  auto& r = closures_[c];
  r.started = std::max(at, ready_at(r));
  step_.metrics.queue_wait.add(r.started - ready_at(r));
  return r.started;
}

void closure_life::stop(slot c) {
  book_.stop(c);
}

void closure_life::let_wait(seat& w, slot c) {
  auto& r = closures_[c];
  if (r.waits) return;
  if (r.sent()) start(w, c, step_.now, true);
  r.reported = true;
  if (r.alone) stop_being_alone(c);
  scheduler_.give_slot(w, c);
}

void closure_life::start_waiting(seat& w) {
  while (w.running.size < w.slots && w.ahead.size > 0) start(w, w.ahead.front, step_.now, false);
}

void closure_life::remember_attempt(slot c, attempt_outcome outcome) {
  auto& r = closures_[c];
  auto& lost = r.with_details().lost;
  if (lost.size() >= 16) {  // the newest sixteen tell the story
    places_.release(lost.front().place);
    lost.erase(lost.begin());
  }
  places_.hold(r.place);
  lost.push_back({r.attempt, r.place, r.started, step_.now, std::move(outcome)});
}

void closure_life::put_back_closure(worker& w, slot c, bool suspect, attempt_outcome const& why,
                                    duration pause) {
  auto& r = closures_[c];
  auto& s = sessions_.of(r.owner);
  bool const lost = why.how == attempt_end::worker_lost;
  if ((lost || why.how == attempt_end::not_there) && !r.sent())
    activity_.add(w.number,
                  {closures_.id_of(c), s.id, r.function, bar_state::lost, r.started, step_.now});
  if (s.delivery() == delivery::build) return lose_build(w, c, suspect, text(why));
  bool const recalled = why.how == attempt_end::recalled;
  if (!recalled) remember_attempt(c, why);
  if (suspect && r.worker_failures < worker_failures_max) ++r.worker_failures;

  if (r.timed_out) return expire(c);
  if (r.stop_requested)
    return cancel(c, lost ? "cancelled; its worker was lost before it answered"
                          : "cancelled instead of run again: " + text(why));
  if (s.max_worker_failures > 0 && r.worker_failures >= s.max_worker_failures) {
    book_.count_aborted();
    return fail(c, closure_state::failed,
                {failure_kind::worker_lost, "",
                 "quarantined: " + std::to_string(r.worker_failures) +
                     (lost ? " workers were lost while they ran it, the last was "
                           : " workers were lost or could not run it, the last was ") +
                     w.task->name() + " (" + (lost ? why.detail : text(why)) + ")",
                 "", w.task->name(), r.attempt});
  }
  if (suspect && lost) count_lost_worker(c, w.task->name());
  scheduler_.let_go(scheduler_.of(w.number), c);
  book_.back(c, recalled ? closure_book::back_for::recall : closure_book::back_for::loss);
  if (!recalled && !step_.stopping) flow_.note(s, c);  // a server that stops is no loss
  if (pause == duration{}) {
    if (!recalled) r.details->ready_at = step_.now;
    check_later(c);
    return r.alone ? wait_for_others(c) : scheduler_.push_front(c);
  }
  r.details->start_at = step_.now + pause;
  enqueue(c);
}

void closure_life::succeed(slot c, blob&& value) {
  closures_[c].value = std::move(value);
  finish(c, closure_state::succeeded);
}

// The first failure of a fail_fast session stops it: see stop_session.
void closure_life::fail(slot c, closure_state as, core::failure f) {
  auto& r = closures_[c];
  auto& s = sessions_.of(r.owner);
  bool const first = as == closure_state::failed && !s.first_error && !r.own_error;
  if (first) {
    s.first_error = f;
    flow_.note(s);
  }
  if (as == closure_state::failed) s.last_failed = closures_.id_of(c), s.last_failure = step_.now;
  r.with_details().failure = std::move(f);
  finish(c, as);
  if (first && s.spec.on_error == on_error::fail_fast && !s.stopping)
    fail_session(s, *s.first_error, "an earlier closure of " + text(s.id) + " failed");
}

void closure_life::fail_session(session& s, core::failure f, std::string_view why, bool all_fail) {
  s.first_error = std::move(f);
  if (s.streaming()) {
    step_.fx.notices.push_back({s.id, notice_kind::failed, s.generation, *s.first_error});
    flow_.tell_failed(s);
  }
  auto const error = *s.first_error;  // the session's own may be raised, and gone, meanwhile
  stop_session(s, why, all_fail ? stops::all : stops::but_own_errors, all_fail ? &error : nullptr);
}

void closure_life::lose_state(stateful_tasks::task_key const& t, std::string const& why) {
  auto const users = stateful_.take_users(t);
  if (auto const number = stateful_.number_of(t))
    if (auto const at = stateful_.lose(t); at != never)
      step_.alarms.clear(at, alarm_kind::state_lost, number);
  auto const name = t.first + ":" + std::to_string(t.second);
  auto const lost = name + " is lost with its state: " + why;
  std::size_t ended = 0;
  for (auto const n : users) {
    auto& s = sessions_.of(n);
    bool const own = s.id == session_id{};  // of the core
    if (own || s.terminal() || s.closed) continue;
    core::failure error{
        failure_kind::dependency_lost, "", "UNAVAILABLE: " + lost, "", "", 0, {name}};
    if (s.stopping) {  // what has an error of its own would have gone on
      if (flow_.of(s).own_errors > 0) stop_session(s, lost, stops::all, &error);
      continue;
    }
    ++ended;
    fail_session(s, std::move(error), lost, true);
  }
  if (ended > 0)
    step_.fx.remarks.push_back({remark_kind::dependency_lost, name,
                                "its state is lost (" + why + "); " + std::to_string(ended) +
                                    (ended == 1 ? " session" : " sessions") +
                                    " that relied on it ended"});
}

void closure_life::cancel(slot c, std::string_view why) {
  fail(c, closure_state::cancelled,
       {failure_kind::cancelled, "", std::string(why), "", "", closures_[c].attempt});
}

void closure_life::ask_to_stop(slot c) {
  auto& r = closures_[c];
  if (r.stop_requested) return;
  r.stop_requested = true;
  // It is being lost: its closures are about to come back. Or it is away: told if it returns.
  auto const& w = roster_.of(r.worker);
  if (!scheduler_.of(w.number).placed || w.away) return;
  ++step_.metrics.stop_requests;
  step_.fx.stop_requests.push_back({w.stream, closures_.id_of(c), r.attempt});
}

// Queued closures end at once; those that workers hold are asked and answer in their own time, so
// when the session has drained nothing of it executes any more.
void closure_life::stop_session(session& s, std::string_view why, stops which,
                                core::failure const* with) {
  bool const spares = which == stops::but_own_errors && flow_.of(s).own_errors > 0;
  auto const stays = [&](slot c) { return spares && closures_[c].own_error; };
  auto const end_all = [&](slot_list const& queue) {
    for (slot c = queue.front; c != no_slot;) {
      slot const next = closures_[c].next;
      if (!stays(c)) with ? fail(c, closure_state::failed, *with) : cancel(c, why);
      c = next;
    }
  };
  s.stopping = true;
  flow_.note(s);
  auto const& q = scheduler_.queue(s.number);
  for (auto const& l : q.lanes) end_all(l.queue);
  end_all(q.deferred);
  if (flow_.of(s).held() > 0)
    for (auto const& [stream, w] : scheduler_.seats())
      for (auto const* held : {&w->running, &w->ahead})
        for (slot c = held->front; c != no_slot; c = closures_[c].next)
          if (closures_[c].owner == s.number && !stays(c)) ask_to_stop(c);
  std::sort(step_.fx.stop_requests.begin(), step_.fx.stop_requests.end(),
            [](auto const& a, auto const& b) { return raw(a.stream) < raw(b.stream); });
  flow_.settle_later(s);
}

}  // namespace muster::core
