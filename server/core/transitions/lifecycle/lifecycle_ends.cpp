#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/utf8.hpp"
#include "server/core/transitions/lifecycle/lifecycle.hpp"

namespace muster::core {

namespace {

// Returns only the end of a traceback, its most informative part, because every dependent gets a
// copy.
std::string end_of(std::string const& traceback) {
  constexpr std::size_t bytes_max = 4 << 10;
  if (traceback.size() <= bytes_max) return traceback;
  return "…" + traceback.substr(utf8_boundary(traceback, traceback.size() - bytes_max));
}

}  // namespace

[[gnu::always_inline]] inline void lifecycle::unlink(slot c, closure_record const& r) {
  if (r.worker != worker_number{}) {
    auto& w = core_.scheduler.of(r.worker);
    core_.scheduler.let_go(w, c);
    core_.scheduler.update(w);
  } else if (r.exclusive && r.is(closure_phase::gathering)) {
    core_.scheduler.end_exclusive_wait(c, core_.step.now);
  } else if (r.deferred()) {
    core_.scheduler.end_deferral(c);
    if (r.is(closure_phase::delayed))
      core_.step.alarms.clear(r.details->start_at, alarm_kind::start, raw(core_.closures.id_of(c)));
  } else if (r.state() == closure_state::queued) {
    core_.scheduler.unqueue(c);
  }
}

[[gnu::always_inline]] inline void lifecycle::forget_record(slot c, closure_record& r,
                                                            release_reason why) {
  core_.values.forget_record(c);
  if (!core_.lineage.empty()) core_.lineage.forget(core_.closures.id_of(c));
  core_.places.release(r.place);
  if (r.details)
    for (auto const& a : r.details->lost) core_.places.release(a.place);
  core_.closures.release(c, {why, core_.step.now});
  if (core_.sessions.held_back() > 0) flow_.on_free_place();
}

// The consequences of an end, in this order: parked calls, the alarm, the gang, used values,
// dependents. Finally, the kind of session decides whether the record is kept.
void lifecycle::finish(slot c, closure_state as) {
  auto& r = core_.closures[c];
  auto& s = core_.sessions.of(r.owner);
  auto const by = r.worker;
  unlink(c, r);
  bool const was_held = core_.book.finish(c, as, core_.step.now).was_held;
  if (was_held) core_.watchdog.progress();
  bool const again = s.traits().keeps_records && core_.values.may_be_lost(r);
  bool const with_inputs = again && value_store::is_name(r.value);
  if (r.details && !with_inputs) r.details->inputs.reset();
  if (again)
    core_.values.keep_arguments(c);
  else if (s.traits().listed && as != closure_state::succeeded)
    core_.values.keep_for_retry(c);
  else
    r.args = {};
  if (s.full && !was_held) flow_.resume_if_room(s);

  if (r.awaited)
    for (auto const call : core_.step.waiters.of(core_.closures.id_of(c))) {
      waiter w;
      core_.step.waiters.remove(call, &w);
      core_.step.fx.changes.waits.value.push_back(core_.step.now - w.since);
      core_.step.answer(call, {}, keeping_.value_of(c));
    }
  if (auto* d = r.details.get()) {
    if (d->deadline != never)
      core_.step.alarms.clear(d->deadline, alarm_kind::closure_deadline,
                              raw(core_.closures.id_of(c)));
    if (r.exclusive) stop_being_exclusive(c);
    if (d->gang != 0)
      core_.scheduler.gangs.member_ended(std::exchange(d->gang, 0), core_.closures.id_of(c));
    if (d->extras) unuse_per_worker(*d->extras);
    if (!d->dependents.empty()) {
      bool const ok = as == closure_state::succeeded;
      core_.step.ended_inputs.push_back({core_.closures.id_of(c), ok, r.value,
                                         ok ? failure{} : ended_as_input(c),
                                         std::move(d->dependents)});
    }
  }
  if (!core_.lineage.empty() && core_.lineage.ended(core_.closures.id_of(c), with_inputs))
    core_.values.copy(c);
  if (s.delivery() == delivery::build) {
    built(c, by == worker_number{} ? stream_id{} : core_.registry.of(by).stream);
    return forget(c, release_reason::client);
  }
  if (s.delivery() == delivery::rebuild) {
    keeping_.rebuilt(c);
    return forget(c, release_reason::client);
  }
  if (s.traits().listed) {
    keeping_.keep_value(c);
  } else if (s.traits().resumable) {
    hold(c);
  } else {
    // Constructed in place, because most outcomes have no failure to move.
    auto& o = core_.step.fx.outcomes.emplace_back();
    o.session = s.id;
    o.token = r.token;
    o.ok = as == closure_state::succeeded;
    o.value = std::move(r.value);
    if (!o.ok) o.failure = std::move(r.details->failure);
    core_.book.release(c, release_reason::client);
    forget_record(c, r, release_reason::client);
  }
  flow_.settle_later(s);
}

void lifecycle::forget(slot c, release_reason why) {
  core_.book.release(c, why);
  forget_record(c, core_.closures[c], why);
}

void lifecycle::forget_with_session(slot c, release_reason why) {
  forget_record(c, core_.closures[c], why);
}

void lifecycle::hold(slot c) {
  auto& r = core_.closures[c];
  auto& s = core_.sessions.of(r.owner);
  if (r.released) r.value = {};
  core_.step.fx.outcomes.push_back(keeping_.outcome_of(c));
  keeping_.keep_value(c);
  core_.closures.push_back(s.held, c);
  if (r.released && s.traits().unary) return forget_held(c);
  keeping_.limit_values(s);
}

void lifecycle::forget_held(slot c, release_reason why) {
  auto& r = core_.closures[c];
  auto& s = core_.sessions.of(r.owner);
  core_.closures.remove(s.held, c);
  core_.values.let_go(c);
  s.by_token.erase(r.token);
  forget(c, why);
}

void lifecycle::end_failed_inputs() {
  for (auto& [id, why] : std::exchange(core_.step.failed_inputs, {}))
    if (slot const c = core_.closures.find(id); c != no_slot && !ended(core_.closures[c].state()))
      fail(c, closure_state::failed, std::move(why));
}

void lifecycle::expire(slot c) {
  auto const& r = core_.closures[c];
  auto const limit =
      std::chrono::duration_cast<std::chrono::milliseconds>(r.details->extras->options.deadline);
  auto const where = r.state() == closure_state::running   ? "while it ran"
                     : r.state() == closure_state::blocked ? "while it waited for an input"
                     : r.is(closure_phase::delayed)        ? "before its start"
                                                           : "while it was queued";
  auto const worker =
      r.worker == worker_number{} ? std::string() : core_.registry.of(r.worker).task->name();
  fail(c, closure_state::failed,
       {failure_kind::timeout, "",
        "its deadline of " + std::to_string(limit.count()) + " ms passed " + where, "", worker,
        r.attempt});
}

std::string lifecycle::unfit_inputs(closure_record const& r) const {
  auto const& d = *r.details;
  if (!d.inputs) return {};
  std::size_t bytes = 0;
  bool const in_json = r.args.encoding() == encoding::json;
  for (std::size_t k = 0; k < d.inputs->size(); ++k) {
    bytes += (*d.inputs)[k].size();
    if (in_json && (*d.inputs)[k].encoding() == encoding::bytes)
      return "input " + text(d.input_ids[k]) +
             " is bytes (raw, or a pickled Python value), which cannot be part of the JSON "
             "arguments of '" +
             core_.book.functions[r.function].name + "'";
  }
  if (bytes <= core_.step.config.input_bytes_max) return {};
  return "the inputs have " + std::to_string(bytes) + " bytes, the limit is " +
         std::to_string(core_.step.config.input_bytes_max);
}

failure lifecycle::ended_as_input(slot c) const {
  auto const& f = core_.closures[c].details->failure;
  auto said = f.kind == failure_kind::input
                  ? f.message
                  : "input " + text(core_.closures.id_of(c)) + " failed: " + f.message;
  return {failure_kind::input, f.type, std::move(said),
          // The exception object is sent only to the client that submitted the closure.
          end_of(f.traceback), f.worker, f.attempt};
}

void lifecycle::notify_dependents() {
  while (!core_.step.ended_inputs.empty()) {
    auto ended = std::move(core_.step.ended_inputs.front());
    core_.step.ended_inputs.pop_front();
    for (auto const id : ended.dependents) {
      slot const c = core_.closures.find(id);
      if (c == no_slot || core_.closures[c].state() != closure_state::blocked) continue;
      auto& r = core_.closures[c];
      if (!ended.ok) {
        fail(c, closure_state::failed, ended.why);
        continue;
      }
      auto& d = *r.details;
      for (std::size_t k = 0; k < d.input_ids.size(); ++k) {
        if (d.input_ids[k] != ended.id) continue;
        use_input(c, k, ended.value);
        --d.inputs_missing;
      }
      if (d.inputs_missing > 0) continue;
      if (auto why = unfit_inputs(r); !why.empty()) {
        fail(c, closure_state::failed, input_failure(std::move(why)));
        continue;
      }
      core_.scheduler.end_deferral(c);
      core_.book.unblock(c);
      enqueue(c);
    }
    // Keeps the list of dependents for readers as long as the record exists.
    slot const input = core_.closures.find(ended.id);
    if (input != no_slot && core_.closures[input].details &&
        core_.closures[input].details->dependents.empty())
      core_.closures[input].details->dependents = std::move(ended.dependents);
  }
}

void lifecycle::release(per_worker_entry& v) {
  v.released = true;
  core_.builds.note_change(v);
  if (v.users > 0) return;
  std::vector<worker_slots*> keepers;
  for (auto const& [task, part] : v.components) {
    auto* w = core_.scheduler.find(part.stream);
    if (!w) continue;
    keepers.push_back(w);
    // The worker also keeps the failure of a failed build, which it must drop.
    if (core_.builds.cancel_build(part.stream, v.id) && part.built_again == 0) continue;
    if (slot const c = core_.closures.find(part.build); c != no_slot) ask_to_stop(c);
    core_.step.fx.drop_requests.push_back({part.stream, v.id});
  }
  auto const id = v.id;
  core_.builds.erase(id);
  for (auto* w : keepers) {
    core_.scheduler.set_built(*w, id, false);
    core_.scheduler.reconsider(*w);
  }
}

void lifecycle::use_per_worker(closure_extras const& x) {
  bool const by_name = !x.per_worker.empty() && core_.stateful.holds_state(x.options.task_job);
  for (auto const id : x.per_worker) {
    auto& v = *core_.builds.find(id);
    ++v.users;
    if (by_name) core_.builds.name(v, {x.options.task_job, x.options.task_index});
  }
}

void lifecycle::unuse_per_worker(closure_extras const& x) {
  for (auto const id : x.per_worker) {
    auto& v = *core_.builds.find(id);
    if (--v.users == 0 && v.released) release(v);
  }
}

// Called when a build's closure has finished, before its record is deleted.
void lifecycle::built(slot c, stream_id on) {
  auto& r = core_.closures[c];
  auto* v = core_.builds.find(per_worker_id{r.token});
  if (!v) return;
  auto* w = core_.registry.find(on);
  if (!w) return;
  auto& part = v->components.at({w->task->job, w->task->index});
  if (part.build != core_.closures.id_of(c)) return;
  part.build = {};
  part.losses = part.built_again = 0;
  part.reports.reset();
  part.state = value_state::ready;
  part.since = core_.step.now;
  part.error.reset();
  if (r.state() != closure_state::succeeded) part.error = r.details->failure;
  core_.builds.note_change(*v, {w->task->job, w->task->index});
  if (auto* owner = core_.sessions.find(v->owner))
    core_.stateful.use(owner->number, {w->task->job, w->task->index});
  core_.scheduler.set_built(core_.scheduler.of((*w).number), v->id, true);
  core_.scheduler.reconsider(core_.scheduler.of((*w).number));
}

per_worker_component* lifecycle::component_of(worker const& w, slot c) {
  auto* v = core_.builds.find(per_worker_id{core_.closures[c].token});
  return v ? &v->components.at({w.task->job, w.task->index}) : nullptr;
}

void lifecycle::build_again(worker& w, slot c, core::failure why) {
  auto& part = *component_of(w, c);
  part.build = {};
  part.error = std::move(why);
  auto const id = per_worker_id{core_.closures[c].token};
  core_.builds.note_change(*core_.builds.find(id), {w.task->job, w.task->index});
  core_.builds.build_again(core_.step.now, part.built_again++, w.stream, id);
  withdraw_build(w, c, closure_book::requeue_cause::loss);
}

void lifecycle::lose_build(worker& w, slot c, bool suspect, closure_book::requeue_cause cause) {
  if (auto* v = core_.builds.find(per_worker_id{core_.closures[c].token})) {
    auto& part = v->components.at({w.task->job, w.task->index});
    part.build = {};
    if (suspect) part.suspect = w.task->spec.incarnation;
    if (core_.scheduler.of(w.number).placed) {
      core_.builds.to_build(w.stream).push_back(v->id);
      core_.builds.look_at(w.stream);
    }
  }
  withdraw_build(w, c, cause);
}

void lifecycle::withdraw_build(worker& w, slot c, closure_book::requeue_cause cause) {
  auto& at = core_.scheduler.of(w.number);
  core_.scheduler.let_go(at, c);
  core_.scheduler.update(at);
  core_.book.requeue(c, cause);
  core_.book.withdraw(c);
  forget_record(c, core_.closures[c], release_reason::client);
}

std::optional<failure> lifecycle::unbuildable(per_worker_entry const& v,
                                              requirement const& r) const {
  if (!core_.builds.is_troubled(v.id)) return {};
  component_builds::task_key const* last = nullptr;
  per_worker_component const* worst = nullptr;
  for (auto const& [task, part] : v.components) {
    bool const meets = r.job.empty()
                           ? !core_.stateful.holds_state(task.first)
                           : r.job == task.first && (r.index < 0 || r.index == task.second);
    if (!meets) continue;
    if (part.is_hopeless()) {
      if (!worst || part.losses > worst->losses) last = &task, worst = &part;
      continue;
    }
    if (part.stream != stream_id{}) return {};
    auto const* t = core_.registry.tasks.find(task.first, task.second);
    if (t && !t->given_up && t->state != task_state::disconnected) return {};
  }
  if (!worst) return {};
  auto const what = v.name.empty() ? text(v.id) : "'" + v.name + "' (" + text(v.id) + ")";
  auto const worker = last->first + ":" + std::to_string(last->second);
  return failure{
      failure_kind::input,
      "",
      "per-worker value " + what + " cannot be built: " + worst->quarantine_message(worker),
      "",
      worker,
      0};
}

}  // namespace muster::core
