// The end of a closure, and what it means for others.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "base/utf8.hpp"
#include "server/core/moves/closure_life.hpp"

namespace muster::core {

namespace {

// Any number of closures may wait for one input; its end says most of a traceback.
std::string end_of(std::string const& traceback) {
  constexpr std::size_t bytes_max = 4 << 10;
  if (traceback.size() <= bytes_max) return traceback;
  return "…" + traceback.substr(border_at(traceback, traceback.size() - bytes_max));
}

}  // namespace

[[gnu::always_inline]] inline void closure_life::unlink(slot c, closure_record const& r) {
  if (r.worker != worker_number{}) {
    auto& w = scheduler_.of(r.worker);
    scheduler_.let_go(w, c);
    scheduler_.update(w);
  } else if (r.alone && r.ganged) {
    scheduler_.end_lone_wait(c, step_.now);
  } else if (r.deferred()) {
    scheduler_.end_deferral(c);
    if (r.delayed)
      step_.alarms.clear(r.details->start_at, alarm_kind::start, raw(closures_.id_of(c)));
  } else if (r.state == closure_state::queued) {
    scheduler_.unqueue(c);
  }
}

[[gnu::always_inline]] inline void closure_life::forget_record(slot c, closure_record& r,
                                                               release_reason why) {
  values_.forget_record(c);
  places_.release(r.place);
  if (r.details)
    for (auto const& a : r.details->lost) places_.release(a.place);
  closures_.release(c, {why, step_.now});
  if (sessions_.held_back() > 0) flow_.a_place_is_free();
}

// The row takes over what the record holds of its place.
[[gnu::always_inline]] inline void closure_life::leave_row(session const& s, slot c,
                                                           closure_record& r) {
  // What its client left behind is no news of a session that has ended.
  if (s.closed && (r.state == closure_state::cancelled || !step_.config.keeps_ended_sessions()))
    return;
  auto* const row = rows_.begin(s.number);
  if (!row) return;
  *row = {closures_.id_of(c),
          r.created,
          r.started,
          r.finished,
          r.order,
          std::exchange(r.place, place_table::none),
          r.function,
          r.attempt & 0xffffff,
          static_cast<std::uint32_t>(r.state)};
  if (r.state != closure_state::succeeded) rows_.add(s.number, r.details->failure);
}

// What follows from an end, in this order: the calls that wait for it, its alarm, its gang, what it
// used, who waits for its value; then its session's kind decides what becomes of the record.
void closure_life::finish(slot c, closure_state as) {
  auto& r = closures_[c];
  auto& s = sessions_.of(r.owner);
  auto const by = r.worker;
  unlink(c, r);
  bool const was_held = book_.finish(c, as, step_.now).was_held;
  if (was_held) watchdog_.progress();
  step_.metrics.total.add(step_.now - r.created);
  if ((s.is_job() || s.holding()) && values_.may_be_lost(r))
    values_.keep_arguments(c);
  else if (s.is_job() && as != closure_state::succeeded)
    values_.keep_for_retry(c);
  else
    r.args = {};
  if (s.full && !was_held) flow_.relieve(s);

  if (r.awaited)
    for (auto const call : step_.waiters.of(closures_.id_of(c))) {
      waiter w;
      step_.waiters.remove(call, &w);
      step_.metrics.value_wait.add(step_.now - w.since);
      step_.answer(call, {}, keeping_.value_of(c));
    }
  if (auto* d = r.details.get()) {
    if (d->deadline != never)
      step_.alarms.clear(d->deadline, alarm_kind::closure_deadline, raw(closures_.id_of(c)));
    d->inputs.reset();
    if (r.alone) stop_being_alone(c);
    if (d->gang != 0) scheduler_.gangs.member_ended(std::exchange(d->gang, 0), closures_.id_of(c));
    if (d->extras) unuse_per_worker(*d->extras);
    if (!d->dependents.empty()) {
      bool const ok = as == closure_state::succeeded;
      step_.ended_inputs.push_back({closures_.id_of(c), ok, r.value,
                                    ok ? failure{} : ended_as_input(c), std::move(d->dependents)});
    }
  }
  if (s.delivery() == delivery::build) {
    built(c, by == worker_number{} ? stream_id{} : roster_.of(by).stream);
    return forget(c, release_reason::client);
  }
  if (s.delivery() == delivery::rebuild) {
    keeping_.rebuilt(c);
    return forget(c, release_reason::client);
  }
  if (s.is_job()) {
    flow_.note(s, c);
    keeping_.keep_value(c);
  } else if (s.holding()) {
    hold(c);
  } else {
    leave_row(s, c, r);
    auto& o = step_.fx.outcomes.emplace_back();  // in place: most have no failure to move
    o.session = s.id;
    o.token = r.token;
    o.ok = as == closure_state::succeeded;
    o.value = std::move(r.value);
    if (!o.ok) o.failure = std::move(r.details->failure);
    forget_record(c, r, release_reason::client);
  }
  flow_.settle_later(s);
}

void closure_life::forget(slot c, release_reason why) {
  forget_record(c, closures_[c], why);
}

void closure_life::hold(slot c) {
  auto& r = closures_[c];
  auto& s = sessions_.of(r.owner);
  if (r.released) r.value = {};
  flow_.note(s, c);
  step_.fx.outcomes.push_back(keeping_.outcome_of(c));
  keeping_.keep_value(c);
  closures_.push_back(s.held, c);
  if (r.released && s.by_calls()) return forget_held(c);
  keeping_.limit_values(s);
}

void closure_life::forget_held(slot c, release_reason why) {
  auto& r = closures_[c];
  auto& s = sessions_.of(r.owner);
  closures_.remove(s.held, c);
  if (s.durable) {
    if (auto const all = s.requests.forget(r.order))
      step_.changed.requests_gone.push_back({s.id, all->first, all->size});
    else
      step_.changed.forgotten.push_back({s.id, r.order});
  }
  values_.let_go(c);
  s.by_token.erase(r.token);
  leave_row(s, c, r);
  forget(c, why);
}

void closure_life::fail_doomed() {
  for (auto& [id, why] : std::exchange(step_.doomed, {}))
    if (slot const c = closures_.find(id); c != no_slot && !ended(closures_[c].state))
      fail(c, closure_state::failed, std::move(why));
}

// Its deadline has passed and it does not run (any more).
void closure_life::expire(slot c) {
  auto const& r = closures_[c];
  auto const limit =
      std::chrono::duration_cast<std::chrono::milliseconds>(r.details->extras->options.deadline);
  auto const where = r.state == closure_state::running   ? "while it ran"
                     : r.state == closure_state::blocked ? "while it waited for an input"
                     : r.delayed                         ? "before its start"
                                                         : "while it was queued";
  auto const worker =
      r.worker == worker_number{} ? std::string() : roster_.of(r.worker).task->name();
  fail(c, closure_state::failed,
       {failure_kind::timeout, "",
        "its deadline of " + std::to_string(limit.count()) + " ms passed " + where, "", worker,
        r.attempt});
}

std::string closure_life::unfit_inputs(closure_record const& r) const {
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
             book_.functions[r.function].name + "'";
  }
  if (bytes <= step_.config.input_bytes_max) return {};
  return "the inputs have " + std::to_string(bytes) + " bytes, the limit is " +
         std::to_string(step_.config.input_bytes_max);
}

failure closure_life::ended_as_input(slot c) const {
  auto const& f = closures_[c].details->failure;
  auto said = f.kind == failure_kind::input
                  ? f.message
                  : "input " + text(closures_.id_of(c)) + " failed: " + f.message;
  return {failure_kind::input, f.type,   std::move(said),
          end_of(f.traceback), f.worker, f.attempt};  // its exception is for its own client
}

void closure_life::tell_dependents() {
  while (!step_.ended_inputs.empty()) {
    auto ended = std::move(step_.ended_inputs.front());
    step_.ended_inputs.pop_front();
    for (auto const id : ended.dependents) {
      slot const c = closures_.find(id);
      if (c == no_slot || closures_[c].state != closure_state::blocked) continue;
      auto& r = closures_[c];
      if (!ended.ok) {
        fail(c, closure_state::failed, ended.why);
        continue;
      }
      auto& d = *r.details;
      for (std::size_t k = 0; k < d.input_ids.size(); ++k) {
        if (d.input_ids[k] != ended.id) continue;
        (*d.inputs)[k] = ended.value;
        --d.inputs_missing;
      }
      if (d.inputs_missing > 0) continue;
      if (auto why = unfit_inputs(r); !why.empty()) {
        fail(c, closure_state::failed, input_failure(std::move(why)));
        continue;
      }
      scheduler_.end_deferral(c);
      book_.unblock(c);
      enqueue(c);
    }
    // For readers, as long as the record stays.
    slot const input = closures_.find(ended.id);
    if (input != no_slot && closures_[input].details &&
        closures_[input].details->dependents.empty())
      closures_[input].details->dependents = std::move(ended.dependents);
  }
}

void closure_life::release(per_worker_entry& v) {
  v.released = true;
  auto const* owner = sessions_.find(v.owner);
  if (owner || v.owner == session_id{}) flow_.note(owner, v.id);
  if (v.users > 0) return;
  std::vector<seat*> keepers;
  for (auto const& [task, part] : v.components) {
    auto* w = scheduler_.find(part.stream);
    if (!w) continue;
    keepers.push_back(w);
    // Of one that failed its worker keeps the failure.
    if (builds_.do_not_build(part.stream, v.id) && part.built_again == 0) continue;
    if (slot const c = closures_.find(part.build); c != no_slot) ask_to_stop(c);
    step_.fx.drop_requests.push_back({part.stream, v.id});
  }
  auto const id = v.id;
  builds_.erase(id);
  for (auto* w : keepers) {
    scheduler_.set_built(*w, id, false);
    scheduler_.reconsider(*w);
  }
}

void closure_life::use_per_worker(closure_extras const& x) {
  bool const by_name = !x.per_worker.empty() && stateful_.holds_state(x.options.task_job);
  for (auto const id : x.per_worker) {
    auto& v = *builds_.find(id);
    ++v.users;
    if (by_name) builds_.name(v, {x.options.task_job, x.options.task_index});
  }
}

void closure_life::unuse_per_worker(closure_extras const& x) {
  for (auto const id : x.per_worker) {
    auto& v = *builds_.find(id);
    if (--v.users == 0 && v.released) release(v);
  }
}

// Called when the closure of a build has ended; the record is forgotten afterwards.
void closure_life::built(slot c, stream_id on) {
  auto& r = closures_[c];
  auto* v = builds_.find(per_worker_id{r.token});
  if (!v) return;  // released meanwhile
  auto* w = roster_.find(on);
  if (!w) return;
  auto& part = v->components.at({w->task->job, w->task->index});
  if (part.build != closures_.id_of(c)) return;
  part.build = {};
  part.losses = part.built_again = 0;
  part.reports.reset();
  part.state = value_state::ready;
  part.since = step_.now;
  part.error.reset();
  if (r.state != closure_state::succeeded) part.error = r.details->failure;
  if (auto* owner = sessions_.find(v->owner))
    stateful_.use(owner->number, {w->task->job, w->task->index});
  scheduler_.set_built(scheduler_.of((*w).number), v->id, true);
  scheduler_.reconsider(scheduler_.of((*w).number));
}

per_worker_component* closure_life::component_of(worker const& w, slot c) {
  auto* v = builds_.find(per_worker_id{closures_[c].token});
  return v ? &v->components.at({w.task->job, w.task->index}) : nullptr;
}

void closure_life::build_again(worker& w, slot c, core::failure why) {
  constexpr duration first = std::chrono::seconds(1);
  constexpr duration most = std::chrono::minutes(1);
  auto& part = *component_of(w, c);
  auto pause = first;
  for (std::uint32_t i = 0; i < part.built_again && pause < most; ++i) pause *= 2;
  ++part.built_again;
  part.build = {};
  part.error = why;
  builds_.build_again(step_.now + std::min(pause, most), w.stream,
                      per_worker_id{closures_[c].token});
  fail(c, closure_state::failed, std::move(why));
}

void closure_life::lose_build(worker& w, slot c, bool suspect, std::string const& why) {
  if (auto* v = builds_.find(per_worker_id{closures_[c].token})) {
    auto& part = v->components.at({w.task->job, w.task->index});
    part.build = {};
    if (suspect) part.suspect = w.task->spec.incarnation;
    if (scheduler_.of(w.number).placed) {
      builds_.to_build(w.stream).push_back(v->id);
      builds_.look_at(w.stream);
    }
  }
  fail(c, closure_state::failed,
       {failure_kind::worker_lost, "", why, "", w.task->name(), closures_[c].attempt});
}

}  // namespace muster::core
