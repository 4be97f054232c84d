#include "server/core/programs/course.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.hpp"
#include "server/core/programs/causes.hpp"

namespace muster::core::programs {
namespace {

// Attempts that are shorter than this delay the next attempt.
constexpr duration quick = std::chrono::seconds(10);

bool all_waited_for_ended(attempt const& a) {
  bool const any =
      std::any_of(a.ranks.begin(), a.ranks.end(), [](auto const& r) { return !r.serves; });
  return std::all_of(a.ranks.begin(), a.ranks.end(),
                     [any](rank const& r) { return (any && r.serves) || r.ended_well(); });
}

// Returns another rank that the coordination service has reported as failed, or null.
rank const* failed_before(attempt const& a, rank const& ended) {
  if (!a.trouble || a.trouble->task.empty() || a.trouble->task == ended.seen.task) return nullptr;
  auto const it = std::find_if(a.ranks.begin(), a.ranks.end(),
                               [&](rank const& r) { return r.seen.task == a.trouble->task; });
  return it == a.ranks.end() ? nullptr : &*it;
}

// Returns the first rank that exited with status 0 while other ranks of its role continued, or
// null.
rank const* left_first(attempt const& a, rank const& failed) {
  rank const* first = nullptr;
  for (auto const& r : a.ranks)
    if (r.ended_well() && r.group == failed.group && (!first || r.seen.ended < first->seen.ended))
      first = &r;
  return first;
}

}  // namespace

duration pause_after_quick_ends(std::uint32_t quick_ends) {
  if (quick_ends <= 2) return {};
  auto const doubled = std::min(quick_ends - 3, 5u);
  return std::min<duration>(std::chrono::seconds(1u << doubled), std::chrono::seconds(30));
}

void course::enter(program& p, program_state s, program_end end) {
  p.state = s;
  table_.note(p);
  out_.changes.push_back({p.id, s, p.attempts, false, end});
}

void course::begun(program& p) {
  p.goal = goal::run;
  p.cause = {};
  enter(p, program_state::starting);
}

void course::started(program& p, std::uint32_t rank, std::uint32_t pid, time_point now) {
  attempts_.started(p, rank, pid, now);
  if (p.state != program_state::starting || p.now.started < p.now.ranks.size()) return;
  p.now.about.running_since = now;
  enter(p, program_state::running);
}

void course::rank_dead(program& p, std::uint32_t rank, rank_end const& how, time_point now) {
  attempts_.dead(p, rank, how, now);
  if (p.goal == goal::run)
    judge(p, rank, how, now);
  else
    note_end_of_failed(p, rank, how);
  // The other ranks may be waiting for this rank.
  bool const early = !how.well() || (how.stopped && p.goal == goal::again);
  if (p.now.by_step && early) give_up_steps(p, now);
  if (p.now.alive == 0) close(p, now);
}

// A rank that hangs, or whose failure the coordination service reported, ends after it became the
// cause.
void course::note_end_of_failed(program& p, std::uint32_t rank, rank_end const& how) {
  for (auto* cause : {&p.cause, &p.now.about.cause})
    if (*cause && (*cause)->rank == rank &&
        ((*cause)->kind == cause_kind::coordination || (*cause)->kind == cause_kind::hang))
      note_end(**cause, how);
}

// When a machine is lost, the other ranks fail before its lease expires. The cause is the loss of
// the machine, not the errors of the other ranks.
void course::judge(program& p, std::uint32_t rank, rank_end const& how, time_point now) {
  auto const& r = p.now.ranks[rank];
  if (how.lease_ran_out || how.stopped)
    return fail(p, cause_of(r.seen, how), program_end::lost, now);
  if (!how.well()) return judge_failed(p, rank, how, now);
  if (all_waited_for_ended(p.now)) {
    p.now.about.end = program_end::succeeded;
    end_attempt(p, goal::succeed, now);
  }
}

void course::judge_failed(program& p, std::uint32_t rank, rank_end const& how, time_point now) {
  auto const& r = p.now.ranks[rank];
  auto cause = cause_of(r.seen, how);
  if (auto const gone = attempts_.out_of_reach(p, now - attempts::reconnect_time))
    return fail(p, cause_of_loss(p.now.ranks[*gone].seen, std::move(cause)), program_end::lost,
                now);
  if (auto const* failed = failed_before(p.now, r))
    cause = cause_of_failed_task(failed->seen, *p.now.trouble, r.seen, how);
  else if (auto const* left = left_first(p.now, r))
    note_earlier_exit(cause, left->seen, now);
  if (attempts_.out_of_reach(p, now)) {
    p.now.failed_without_worker = now;
    alarms_.set(now + attempts::reconnect_time, program_alarm::lost_worker, raw(p.id));
  }
  fail(p, std::move(cause), program_end::failed, now);
}

// The program may have been cancelled since, or its deadline may have passed.
void course::blame_lost_worker(program& p, time_point now) {
  auto const then = std::exchange(p.now.failed_without_worker, never);
  if (then == never || now < then + attempts::reconnect_time) return;
  auto const gone = attempts_.out_of_reach(p, then);
  auto& about = p.now.about;
  if (!gone || about.end != program_end::failed || !about.cause ||
      about.cause->kind == cause_kind::deadline)
    return;
  if (auto const it = p.failures.find(about.cause->host); it != p.failures.end() && it->second > 0)
    --it->second;
  auto cause = cause_of_loss(p.now.ranks[*gone].seen, std::move(*about.cause));
  ++p.failures[cause.host];
  about.end = program_end::lost;
  about.cause = cause;
  if (p.goal == goal::again) --p.counted_restarts;
  if (p.goal == goal::fail) p.goal = goal::again;
  if (p.goal == goal::again) p.cause = std::move(cause);
  enter(p, p.goal == goal::again ? program_state::restarting : p.state);
}

// Lost machines do not count towards max_restarts.
void course::fail(program& p, program_cause why, program_end as, time_point now) {
  if (!why.host.empty()) ++p.failures[why.host];
  bool const counts = as == program_end::failed || as == program_end::hung;
  bool const aborts = as == program_end::hung && p.spec->on_hang == hang_policy::abort;
  bool const again = !counts || (!aborts && p.counted_restarts < p.spec->max_restarts);
  p.counted_restarts += counts && again;
  p.now.about.end = as;
  p.now.about.cause = p.cause = with_coordination_failure(std::move(why), p.now.trouble);
  end_attempt(p, again ? goal::again : goal::fail, now);
}

void course::end_attempt(program& p, goal then, time_point now) {
  p.goal = then;
  if (p.now.alive == 0) return;  // the caller closes the attempt
  enter(p, then == goal::again ? program_state::restarting : program_state::stopping);
  // A notice gives the ranks time to agree on a step. Until the deadline, the ranks receive at most
  // a signal that interrupts sleeps.
  p.now.by_step = p.noticed() && p.now.supports_step_stop;
  attempts_.stop(p, p.grace_at(now));
}

void course::preempt(program& p, std::string why) {
  if (p.goal != goal::run) return;
  p.now.about.end = program_end::preempted;
  p.now.about.cause = program_cause{.kind = cause_kind::worker_left, .text = std::move(why)};
  p.goal = goal::again;
  p.now.by_step = true;
  enter(p, program_state::restarting);
}

void course::give_up_steps(program& p, time_point now) {
  if (!p.now.by_step) return;
  p.now.by_step = false;
  if (p.now.alive > 0) attempts_.stop(p, p.grace_at(now));
}

void course::close(program& p, time_point now) {
  auto& about = p.now.about;
  about.ended = now;
  bool const well = std::all_of(p.now.ranks.begin(), p.now.ranks.end(), std::mem_fn(&rank::well));
  switch (p.goal) {
    case goal::run:
      return check(false, "the outcome of an attempt must be decided before its last rank ends");
    case goal::again: {
      auto const since = about.running_since == never ? about.begun : about.running_since;
      p.quick_ends = now - since < quick ? p.quick_ends + 1 : 0;
      p.not_before =
          now + (about.end == program_end::cancelled || about.end == program_end::preempted
                     ? duration{}
                     : pause_after_quick_ends(p.quick_ends));
      return enter(p, program_state::restarting, about.end);
    }
    case goal::succeed:
      return finish(p, program_state::succeeded, now, about.end);
    case goal::fail:
      return finish(p, program_state::failed, now, about.end);
    case goal::cancel:
      return finish(p, program_state::cancelled, now, about.end);
    case goal::stop:
      if (well) about.end = program_end::succeeded;
      return finish(p, well ? program_state::succeeded : program_state::cancelled, now, about.end);
  }
}

void course::finish(program& p, program_state s, time_point now, program_end last) {
  p.finished = now;
  if (p.deadline != never) alarms_.clear(p.deadline, program_alarm::deadline, raw(p.id));
  if (s == program_state::succeeded) p.cause = {};
  enter(p, s, last);
  if (s == program_state::failed) out_.failures.push_back({p.id, p.spec->name, p.cause->text});
  std::vector<program_id> gone;
  table_.finished(p, gone);
  for (auto const id : gone) out_.changes.push_back({.program = id, .gone = true});
}

status course::wish(program& p, change_program const& what, time_point now) {
  switch (what.wish) {
    case program_command::cancel:
      return cancel(p, goal::cancel, "it was cancelled", now);
    case program_command::stop:
      return cancel(p, goal::stop, "it was stopped", now);
    case program_command::restart:
      return restart(p, now);
    case program_command::forget:
      if (!ended(p.state))
        return {code::failed_precondition,
                text(p.id) + " is " + std::string(name(p.state)) + ": cancel it first"};
      forget(p.id);
      return {};
    case program_command::stop_at:
      return stop_at(p, what.at);
  }
  return {};
}

status course::stop_at(program& p, agreed_stop const& at) {
  if (p.attempts != at.attempt || p.goal != goal::run)
    return {code::failed_precondition, "attempt " + std::to_string(at.attempt) + " of " +
                                           text(p.id) +
                                           " ended before it was asked to stop; try again"};
  p.stop_at = at;
  enter(p, p.state);
  return {};
}

// A decision is final: cancelling has no effect on a program that has failed.
status course::cancel(program& p, goal then, std::string why, time_point now) {
  if (ended(p.state) || p.goal == goal::succeed || p.goal == goal::fail) return {};
  if (p.goal == goal::cancel || p.goal == then) return {};
  program_cause cause{.kind = cause_kind::request, .text = std::move(why)};
  if (p.waits()) {
    p.cause = std::move(cause);
    finish(p, program_state::cancelled, now);
    return {};
  }
  if (p.goal == goal::run) p.now.about.cause = cause;
  if (p.goal == goal::run) p.now.about.end = program_end::cancelled;
  p.cause = std::move(cause);
  end_attempt(p, then, now);
  return {};
}

status course::restart(program& p, time_point now) {
  if (ended(p.state) || p.state == program_state::stopping)
    return {code::failed_precondition,
            text(p.id) + " is " + std::string(name(p.state)) + ": submit it again"};
  p.failures.clear();
  p.quick_ends = 0;
  if (p.waits()) {
    p.not_before = {};
    enter(p, p.state);
    return {};
  }
  if (p.goal == goal::again) give_up_steps(p, now);
  if (p.goal != goal::run) return {};
  p.now.about.end = program_end::cancelled;
  p.now.about.cause = program_cause{.kind = cause_kind::request, .text = "a restart was requested"};
  end_attempt(p, goal::again, now);
  return {};
}

void course::deadline(program& p, time_point now) {
  if (ended(p.state)) return;
  program_cause why{.kind = cause_kind::deadline, .text = "it was still running at its deadline"};
  if (p.spec->notice > duration{})
    why.text = "it was still running when the notice before its deadline was due";
  if (p.waits()) {
    p.cause = std::move(why);
    return finish(p, program_state::failed, now);
  }
  if (p.goal != goal::run && p.goal != goal::again) return;
  p.now.about.end = program_end::failed;
  p.now.about.cause = p.cause = with_coordination_failure(std::move(why), p.now.trouble);
  end_attempt(p, goal::fail, now);
}

void course::hangs(program& p, hang const& what, time_point now) {
  bool const acts =
      p.spec->on_hang == hang_policy::restart || p.spec->on_hang == hang_policy::abort;
  if (p.state == program_state::running) {
    p.now.hang = what;
    enter(p, p.state);
  }
  if (p.state == program_state::running && p.goal == goal::run && acts)
    fail(p, cause_of(what), program_end::hung, now);
}

void course::progress_resumed(program& p) {
  if (!p.now.hang) return;
  p.now.hang = {};
  enter(p, p.state);
}

void course::forget(program_id id) {
  out_.changes.push_back({.program = id, .gone = true});
  table_.forget(id);
}

}  // namespace muster::core::programs
