#include "server/core/transitions/workers/worker_answers.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

namespace {

/// After this number of stale-handle answers, a closure fails. These answers take about ten
/// seconds, within which a worker of another version can attach.
constexpr unsigned stale_answers_max = 8;

unsigned stale_answers(closure_record const& r) {
  if (!r.details) return 0;
  auto const& lost = r.details->lost;
  return static_cast<unsigned>(std::count_if(lost.begin(), lost.end(), [](auto const& a) {
    return a.outcome.how == attempt_end::stale_handle;
  }));
}

std::string in_minutes(duration d) {
  auto const s = std::chrono::duration_cast<std::chrono::seconds>(d).count();
  return s % 60 == 0 ? std::to_string(s / 60) + " min" : std::to_string(s) + " s";
}

// Type of a DEPENDENCY_LOST failure without a named dependency: the worker could not reach the
// server for an argument or a value.
constexpr std::string_view connection_lost_type = "muster::connection_lost";

// The first retry is immediate, because another worker may succeed. Later retries wait longer and
// longer.
std::chrono::milliseconds pause_before_retry(unsigned losses) {
  auto const before = std::min(losses, 6U);
  return std::chrono::milliseconds(before == 0 ? 0 : 50 << before);
}

}  // namespace

[[gnu::always_inline]] inline slot worker_answers::held_by(worker const& w, closure_id id,
                                                           std::uint32_t attempt) const {
  slot const c = core_.closures.find(id);
  bool const holds =
      c != no_slot && core_.closures[c].worker == w.number && core_.closures[c].attempt == attempt;
  return holds ? c : no_slot;
}

[[gnu::always_inline]] inline void worker_answers::note(worker const& w, slot c,
                                                        worker_result const& r) {
  auto const& record = core_.closures[c];
  bool const ok = r.ok && !record.timed_out;
  if (core_.step.now - record.started < attempt_ended::estimated_from)
    core_.book.answered(c, core_.step.now);
  else
    note_long(w, c, r, ok);
}

transient_reports* worker_answers::reports_of(worker const& w, slot c) {
  if (!builds(c)) return &core_.failures.of(core_.closures[c].owner);
  auto* part = life_.component_of(w, c);
  if (!part) return nullptr;
  return part->reports ? &*part->reports : &part->reports.emplace();
}

session* worker_answers::owner_of(slot c) {
  if (!builds(c)) return &core_.sessions.of(core_.closures[c].owner);
  auto const* v = core_.builds.find(per_worker_id{core_.closures[c].token});
  return v ? core_.sessions.find(v->owner) : nullptr;
}

// A lost connection counts as a loss of the worker, not as an error of the closure.
void worker_answers::connection_lost(worker& w, slot c, failure f) {
  if (builds(c)) {
    // The value may have been released while its build waited for the server.
    if (!life_.component_of(w, c)) return life_.fail(c, closure_state::failed, std::move(f));
    return life_.build_again(w, c, std::move(f));
  }
  auto const pause = pause_before_retry(core_.closures[c].worker_failures);
  life_.requeue(
      w, c, true,
      {attempt_end::dependency_lost, "the connection of its worker to the server: " + f.message},
      pause);
}

void worker_answers::dependency_lost(worker& w, slot c, failure f) {
  if (f.dependencies.empty() && f.type == connection_lost_type)
    return connection_lost(w, c, std::move(f));
  auto* const reports = reports_of(w, c);
  if (!reports) return life_.fail(c, closure_state::failed, std::move(f));
  auto const known = [this](std::string const& job, std::int64_t index) {
    return core_.registry.tasks.find(job, index) != nullptr;
  };
  if (auto const wrong = core_.failures.wrong(f, known); !wrong.empty()) {
    f.kind = failure_kind::user;
    f.type = "muster::invalid_dependency";
    f.message = "INVALID_ARGUMENT: the DEPENDENCY_LOST failure is invalid: " + wrong +
                "; its message: " + f.message;
    f.dependencies.clear();
    ++w.task->failed;
    return life_.fail(c, closure_state::failed, std::move(f));
  }
  auto const limit = core_.failures.dependency_limit();
  auto const window = in_minutes(core_.step.config.transient_window);
  auto const by = w.task->name();
  auto verdict = core_.failures.dependencies_lost(*reports, f, core_.step.now);
  auto const list = [](std::string all, std::string const& name) {
    return all + (all.empty() ? "" : ", ") + name;
  };
  std::string names;
  auto const* owner = owner_of(c);
  for (auto const& [name, times] : verdict.counts) {
    names = list(std::move(names), name);
    if (owner) core_.stateful.use(owner->number, name);
    core_.step.report_incident(incidents::dependency_reported{
        name, by, static_cast<std::uint32_t>(times), static_cast<std::uint32_t>(limit),
        core_.step.config.transient_window, f.message});
  }
  if (verdict.fatal.empty() && builds(c)) return life_.build_again(w, c, std::move(f));
  if (verdict.fatal.empty())
    return life_.requeue(w, c, false, {attempt_end::dependency_lost, names + ": " + f.message},
                         verdict.pause);
  names.clear();
  for (auto const& name : verdict.fatal) names = list(std::move(names), name);
  f.message = "UNAVAILABLE: " + names + (verdict.fatal.size() == 1 ? " is" : " are") +
              " lost: reported " + std::to_string(limit) + (limit == 1 ? " time" : " times") +
              " within " + window + ", the last by " + by + ": " + f.message;
  f.dependencies = std::move(verdict.fatal);
  ++w.task->failed;
  life_.fail(c, closure_state::failed, std::move(f));
}

bool worker_answers::tolerate_timeout(worker& w, slot c, failure const& f) {
  auto const present = core_.registry.tasks.count(task_state::connected) +
                       core_.registry.tasks.count(task_state::late);
  auto* const reports = reports_of(w, c);
  if (!reports || !core_.failures.tolerates_timeout(*reports, present, core_.step.now))
    return false;
  if (builds(c))
    life_.build_again(w, c, f);
  else
    life_.requeue(w, c, false, {attempt_end::timed_out, f.message});
  return true;
}

void worker_answers::results(worker_results& e) {
  auto* w = core_.registry.find(e.stream);
  if (!w || w->away) return;  // the stream has just ended
  core_.registry.tasks.seen(core_.step.now, *w->task);
  auto const refuse = [&](std::string wrong) {
    workers_.disconnect(*w, {code::invalid_argument, std::move(wrong)}, false, task_state::error);
  };
  for (auto const& s : e.started) apply_started(*w, s);
  auto& at = core_.scheduler.of((*w).number);
  duration wait{};
  message_ = &e.results;
  ends_.clear();
  for (auto& r : e.results) {
    slot const c = held_by(*w, r.closure, r.attempt);
    if (c == no_slot) return refuse(describe_unheld(*w, " answered ", r.closure, r.attempt));
    if (&r == &e.results.back()) wait = estimated_wait(at, c, r);
    apply_result(*w, c, r);
  }
  // Requeues at the head, the oldest closure last.
  for (auto it = e.returned.rbegin(); it != e.returned.rend(); ++it)
    if (auto wrong = apply_returned(*w, *it); !wrong.empty()) return refuse(std::move(wrong));
  // Waits are applied after the answers. Because an answer ends a wait, another closure can then
  // yield within the limit.
  for (auto const& e_wait : e.waits)
    if (auto wrong = apply_wait(*w, e_wait); !wrong.empty()) return refuse(std::move(wrong));
  life_.start_waiting(at);
  if (!e.results.empty()) {
    if (wait < core_.step.config.window_grow_below) at.grow();
    if (wait > core_.step.config.window_shrink_above) at.shrink();
  }
  core_.scheduler.update(at);
  workers_.note_running(*w);
}

// Answers can be handled one at a time: no closure is sent before all answers are handled, so the
// worker's resources remain free.
void worker_answers::earlier(worker_events::newcomer const& from,
                             std::vector<worker_result>& answers) {
  message_ = &answers;
  ends_.clear();
  for (auto& r : answers) {
    slot const c = core_.closures.find(r.closure);
    if (c == no_slot) continue;
    auto* by = from.before;
    if (!by || core_.closures[c].worker != by->number) {
      auto& at = core_.scheduler.of(from.now->number);
      if (!workers_.can_adopt(c, r.attempt) || !core_.scheduler.has_free(at, c)) continue;
      life_.adopt_held(at, c, r.attempt);
      by = from.now;
    }
    // Otherwise the answer is for another attempt.
    if (held_by(*by, r.closure, r.attempt) == c) apply_result(*by, c, r);
  }
}

// If the closure's start was not observed, uses the time that the closure spent at the worker.
duration worker_answers::estimated_wait(worker_slots const& at, slot c,
                                        worker_result const& r) const {
  bool const measured = r.execution >= duration{};
  auto const took = measured ? r.execution : core_.step.now - core_.closures[c].started;
  return !measured && core_.closures[c].sent() ? took : took * at.window / at.slots;
}

std::string worker_answers::describe_unheld(worker const& w, char const* said, closure_id id,
                                            std::uint32_t attempt) const {
  slot const c = core_.closures.find(id);
  if (c == no_slot || core_.closures[c].worker != w.number)
    return w.task->name() + said + text(id) + ", which is not assigned to it";
  return w.task->name() + said + "attempt " + std::to_string(attempt) + " of " + text(id) +
         ", but its current attempt is " + std::to_string(core_.closures[c].attempt);
}

// Ignores closures that the worker no longer holds, because the worker's report may have crossed a
// message to the worker.
void worker_answers::apply_started(worker& w, started_closure const& e) {
  slot const c = held_by(w, e.closure, e.attempt);
  if (c == no_slot) return;
  auto& r = core_.closures[c];
  auto const since = std::max(r.created, core_.step.now - e.ran);
  auto& at = core_.scheduler.of(w.number);
  if (r.sent()) {
    life_.start(at, c, since, true);
    slot const other =
        at.running.size > at.slots ? core_.scheduler.stop_one_unreported(at) : no_slot;
    if (other != no_slot) life_.stop(other);
  } else {
    r.started = since;
  }
  r.reported = true;
}

std::string worker_answers::apply_wait(worker& w, closure_wait const& e) {
  slot const c = held_by(w, e.closure, e.attempt);
  if (c == no_slot || core_.closures[c].waits == e.begins) return {};
  auto& at = core_.scheduler.of(w.number);
  if (!e.begins) return core_.scheduler.reclaim_slot(at, c), std::string();
  if (!at.may_yield())
    return w.task->name() + " reported that " + text(e.closure) +
           " is waiting, which exceeds the limit of waiting closures (nested_max), " +
           std::to_string(at.credits - at.own_slots());
  life_.yield_slot_of(at, c);
  workers_.retract_prefetched(w);
  return {};
}

std::string worker_answers::apply_returned(worker& w, held_closure const& e) {
  slot const c = held_by(w, e.closure, e.attempt);
  if (c == no_slot) return describe_unheld(w, " returned ", e.closure, e.attempt);
  life_.requeue(w, c, false, {attempt_end::retracted});
  return {};
}

void worker_answers::note_long(worker const& w, slot c, worker_result const& r, bool ok) {
  auto const& record = core_.closures[c];
  bool const stopped =
      !ok && r.failure && r.failure->kind == failure_kind::cancelled && record.stop_requested;
  auto const number = static_cast<std::size_t>(&r - message_->data());
  if (ends_.empty()) lay_out(w, number);
  auto const took = core_.step.now - record.started;
  auto const started = std::max(record.created, ends_[number] - took);
  core_.book.report_attempt(c,
                            ok        ? attempt_end::succeeded
                            : stopped ? attempt_end::cancelled
                                      : attempt_end::failed,
                            started, started + took);
}

// The results arrived together, but the worker's slots ran them in turn. The results are therefore
// laid out backwards from now over the slots that were not otherwise busy, each in the slot that is
// free latest.
void worker_answers::lay_out(worker const& w, std::size_t first) {
  auto const& all = *message_;
  ends_.assign(all.size(), core_.step.now);
  auto const& at = core_.scheduler.of(w.number);
  auto others = at.running.size;
  for (auto i = first; i < all.size(); ++i)
    if (slot const c = core_.closures.find(all[i].closure); others > 0 && c != no_slot &&
                                                            core_.closures[c].worker == w.number &&
                                                            !core_.closures[c].sent())
      --others;
  auto const slots = others < at.slots ? at.slots - others : 1;
  if (all.size() - first <= slots) return;
  free_from_.assign(slots, core_.step.now);  // a heap with the latest time first
  for (auto i = all.size(); i-- > first;) {
    std::pop_heap(free_from_.begin(), free_from_.end());
    ends_[i] = free_from_.back();
    free_from_.back() -= std::max(all[i].execution, duration{});
    std::push_heap(free_from_.begin(), free_from_.end());
  }
}

void worker_answers::apply_result(worker& w, slot c, worker_result& r) {
  auto& record = core_.closures[c];
  ++w.task->finished;
  if (record.sent())
    life_.began(c, core_.step.now - std::max(r.execution, duration{}));
  else if (r.execution >= duration{})
    record.started = std::max(record.created, core_.step.now - r.execution);
  note(w, c, r);
  if (record.timed_out) {
    return life_.expire(c);
  }
  if (r.ok) {
    return life_.succeed(c, std::move(r.value));
  }
  auto& why = r.failure ? *r.failure : r.failure.emplace();
  why.worker = w.task->name();
  why.attempt = record.attempt;
  if (why.kind == failure_kind::stale_handle && !builds(c)) {
    // The first retry is immediate, because another worker may have the handle. Later retries wait
    // longer and longer.
    auto const before = stale_answers(record);
    auto const pause = std::chrono::milliseconds(before == 0 ? 0 : 50 << std::min(before, 6u));
    if (before < stale_answers_max || record.stop_requested)
      return life_.requeue(w, c, true, {attempt_end::stale_handle, why.message}, pause);
    why.message += " (" + std::to_string(before + 1) + " attempts on workers ended this way)";
  }
  if (why.kind == failure_kind::dependency_lost) {
    return dependency_lost(w, c, std::move(why));
  }
  if (why.kind == failure_kind::timeout && tolerate_timeout(w, c, why)) return;
  ++w.task->failed;
  if (why.kind == failure_kind::user && life_.retry(w, c, why)) return;
  bool const stopped = why.kind == failure_kind::cancelled && record.stop_requested;
  auto const& s = core_.sessions.of(record.owner);
  // Keeps an error that the function itself raised while it stopped.
  if (stopped && (why.type.empty() || why.type == "muster.errors.Cancelled") && !record.own_error &&
      !s.user_cancelled && !s.stopped_because.empty())
    why.message = s.stopped_because;
  life_.fail(c, stopped ? closure_state::cancelled : closure_state::failed, std::move(why));
}

}  // namespace muster::core
