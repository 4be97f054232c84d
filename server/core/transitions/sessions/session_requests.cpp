#include "server/core/transitions/sessions/session_requests.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "server/core/api/idempotency.hpp"

namespace muster::core {

void session_requests::seal(seal_session const& e) {
  auto* s = core_.sessions.find_open(e.session);
  if (!s) return core_.step.answer(e.call, texts_.unknown_session(e.session));
  s->sealed = true;
  core_.sessions.report_change(*s);
  flow_.settle_later(*s);
  core_.step.answer(e.call, {});
}

void session_requests::cancel_all(cancel_session const& e) {
  auto* s = core_.sessions.find_open(e.session);
  if (!s) return core_.step.answer(e.call, texts_.unknown_session(e.session));
  if (!s->terminal() && !s->user_cancelled) {
    s->user_cancelled = !s->traits().generations && !s->first_error;  // an error takes precedence
    life_.stop_session(*s, "cancelled");
  }
  core_.step.answer(e.call, {});
}

void session_requests::cancel_one(cancel_closure const& e) {
  slot const c = core_.closures.find(e.closure);
  if (c == no_slot) return core_.step.answer(e.call, texts_.unknown_value(e.closure));
  if (core_.closures[c].worker != worker_number{}) {
    life_.ask_to_stop(c);
    return core_.step.answer(e.call, {});
  }
  switch (core_.closures[c].state()) {
    case closure_state::blocked:
    case closure_state::queued:
      life_.cancel(c, "cancelled");
      break;
    default:
      break;  // cancelling a finished closure is not an error
  }
  core_.step.answer(e.call, {});
}

void session_requests::close(close_session const& e) {
  auto* s = core_.sessions.find_open(e.session);
  if (!s) return;
  check(s->traits().generations, "only a streaming session can be closed");
  s->closed = true;
  life_.stop_session(*s, "the client has disconnected");
}

void session_requests::delete_job(delete_session const& e) {
  auto* s = core_.sessions.find(e.session);
  if (!s) return core_.step.answer(e.call, texts_.unknown_session(e.session));
  if (s->traits().resumable && !s->attached &&
      !s->terminal()) {  // no stream serves the session, so an operator may end it
    s->closed = true;
    life_.stop_session(*s, "deleted");
    return core_.step.answer(e.call, {});
  }
  if (s->traits().generations && !s->terminal())
    return core_.step.answer(e.call,
                             {code::failed_precondition,
                              text(e.session) + " is a stream; only its client can close it"});
  if (!s->terminal())
    return core_.step.answer(e.call, {code::failed_precondition,
                                      text(e.session) + " has not finished: cancel it first"});
  core_.sessions.forget_finished(*s);
  ends_.release_session(*s, release_reason::job_deleted);
  core_.step.answer(e.call, {});
}

std::string session_requests::no_place_to_hold(session const& s, std::size_t n) const {
  if (core_.values.full())
    return "stored values use " + std::to_string(core_.values.bytes()) + " bytes (" +
           std::to_string(core_.values.of(s.number).bytes) +
           " of them for values of this session); the limit is " +
           std::to_string(core_.step.config.value_bytes_max) +
           " (--value-bytes-max): release RemoteValues";
  if (core_.closures.size() + n > core_.step.config.closures_max)
    return "the server holds " + std::to_string(core_.closures.size()) +
           " closures; the limit is " + std::to_string(core_.step.config.closures_max) +
           " (--closures-max): release RemoteValues";
  return {};
}

status session_requests::room_for(session const& s, std::uint64_t waiting, std::size_t n) const {
  if (n > s.capacity)
    return {code::resource_exhausted, "the request has " + std::to_string(n) +
                                          " closures, but the queue of a job holds at most " +
                                          std::to_string(s.capacity) +
                                          "; append them in several requests"};
  if (waiting + n > s.capacity)
    return {code::resource_exhausted, text(s.id) + " has " + std::to_string(waiting) +
                                          " queued closures; the limit is " +
                                          std::to_string(s.capacity)};
  if (core_.closures.size() + n > core_.step.config.closures_max)
    return {code::resource_exhausted, "the server holds " + std::to_string(core_.closures.size()) +
                                          " closures; the limit is " +
                                          std::to_string(core_.step.config.closures_max) +
                                          " (--closures-max)"};
  if (s.traits().keeps_records && core_.values.full())
    return {code::resource_exhausted,
            "results of unfinished jobs use " + std::to_string(core_.values.bytes()) +
                " bytes, the limit is " + std::to_string(core_.step.config.value_bytes_max) +
                " (--value-bytes-max)"};
  return {};
}

void session_requests::open(open_session& e) {
  if (core_.step.refuse_when_stopping(e.call)) return;
  auto& spec = e.spec;
  if (!spec.idempotency_key.empty())
    if (auto const* known = core_.sessions.find_key(spec)) {
      if (auto reused =
              same_request(text(known->id), known->spec.request_digest, spec.request_digest);
          !reused.ok())
        return core_.step.answer(e.call, std::move(reused));
      session_reply again{known->id, false, {}};
      for (slot const c : flow_.of(*known).closures)
        again.closures.push_back(core_.closures.id_of(c));
      return core_.step.answer(e.call, {}, std::move(again));
    }
  if (auto bad = admission_.valid(e.closures, spec); !bad.ok())
    return core_.step.answer(e.call, std::move(bad));
  if (auto bad = admission_.served(e.closures, spec); !bad.ok())
    return core_.step.answer(e.call, std::move(bad));
  if (auto bad = admission_.valid(spec); !bad.ok())
    return core_.step.answer(e.call, std::move(bad));
  if (auto full = core_.scheduler.room_for(nullptr, e.closures); !full.ok())
    return core_.step.answer(e.call, std::move(full));

  session fresh;
  fresh.id = core_.sessions.next_id();
  fresh.take(std::move(spec), core_.step.config);
  fresh.durable =
      fresh.traits().keeps_records && fresh.spec.durable.value_or(core_.step.config.durable);
  fresh.sealed = !fresh.traits().generations && !fresh.spec.open;
  fresh.created = core_.step.now;
  fresh.client = std::move(e.client);
  if (auto full = room_for(fresh, 0, e.closures.size()); !full.ok())
    return core_.step.answer(e.call, std::move(full));
  if (core_.sessions.all().size() >= core_.step.config.sessions_max &&
      !ends_.forget_oldest_ended() && !ends_.forget_oldest_job(release_reason::jobs))
    return core_.step.answer(
        e.call,
        {code::resource_exhausted, "the server has " + std::to_string(core_.sessions.all().size()) +
                                       " unfinished jobs, which is the limit (--sessions-max)"});
  auto& s = core_.sessions.add(std::move(fresh));
  core_.book.open(s.number, s.id, s.traits().listed);
  core_.values.open(s.number, s.traits().resumable);
  core_.scheduler.open(s.number, s.id, s.spec.weight);
  s.attached = s.traits().resumable && !s.traits().unary;
  core_.sessions.report_change(s);
  if (s.traits().unary) flow_.renew_lease(s, core_.step.now);
  if (s.spec.deadline > duration{}) {
    s.deadline = core_.step.now + s.spec.deadline;
    core_.step.alarms.set(s.deadline, alarm_kind::job_deadline, raw(s.id));
  }

  session_reply opened{s.id, true, {}};
  opened.closures.reserve(e.closures.size());
  admission_.schedule_closures(s, e.closures, s.traits().listed ? &opened.closures : nullptr);
  core_.step.answer(e.call, {}, std::move(opened));
  flow_.settle_later(s);
}

status session_requests::appendable(session const& s, core::schedule const& e) const {
  auto const& specs = e.closures;
  if (core_.step.stopping) return {code::unavailable, "the server is shutting down"};
  if (auto bad = admission_.valid(specs, s.spec); !bad.ok()) return bad;
  if (e.call != call_id{})
    if (auto bad = admission_.served(specs, s.spec); !bad.ok()) return bad;
  if (auto full = core_.scheduler.room_for(&core_.scheduler.queue(s.number), specs); !full.ok())
    return full;
  if (s.traits().generations) {
    if (e.generation != 0 && e.generation != s.generation)
      return {code::failed_precondition,
              "the call was scheduled before the client received the end of generation " +
                  std::to_string(e.generation)};
    auto const own = [](closure_spec const& spec) { return spec.own_error; };
    bool const apart = s.stopping && std::all_of(specs.begin(), specs.end(), own);
    if ((!s.stopping || apart) && !s.closed) {
      bool const ask = s.traits().resumable && e.call != call_id{};
      return ask ? room_for(s, flow_.of(s).waiting(), specs.size()) : status{};
    }
    return {code::failed_precondition, "the session is stopping after an error or a cancellation"};
  }
  if (s.terminal() || s.stopping)
    return {code::failed_precondition, text(s.id) + " has ended and accepts no more closures"};
  if (s.sealed)
    return {code::failed_precondition, text(s.id) + " is sealed and accepts no more closures"};
  return room_for(s, flow_.of(s).waiting(), specs.size());
}

// Later, inputs of the remaining closures refer to the removed closures by id.
status session_requests::pass_over(session const& s, core::schedule& e,
                                   std::vector<closure_id>& known) const {
  if (!e.first) return {};
  if (!s.traits().listed) return wrong_field("first", "only jobs have positions");
  auto const& all = flow_.of(s).closures;
  if (*e.first > all.size())
    return wrong_field("first",
                       std::to_string(*e.first) + ", but the job has " +
                           std::to_string(all.size()) +
                           (all.size() == 1 ? " closure" : " closures") +
                           "; the next position is " + std::to_string(all.size()),
                       0, code::failed_precondition);
  auto const count = std::min<std::size_t>(all.size() - *e.first, e.closures.size());
  for (std::size_t k = 0; k < count; ++k) known.push_back(core_.closures.id_of(all[*e.first + k]));
  e.closures.erase(e.closures.begin(), e.closures.begin() + static_cast<std::ptrdiff_t>(count));
  for (auto& spec : e.closures) {
    if (count == 0 || !spec.extras || spec.extras->inputs.empty()) continue;
    auto extras = std::make_shared<closure_extras>(*spec.extras);
    for (auto& input : extras->inputs) {
      if (input.closure != closure_id{}) continue;
      if (input.position < count)
        input.closure = known[input.position];
      else
        input.position -= static_cast<std::uint32_t>(count);
    }
    spec.extras = std::move(extras);
  }
  return {};
}

void session_requests::append(core::schedule& e) {
  auto* s = core_.sessions.find_open(e.session);
  if (!s) {
    if (!core_.step.refuse_when_stopping(e.call))
      core_.step.answer(e.call, texts_.unknown_session(e.session));
    return;
  }
  bool const streaming = s->traits().generations;
  // Without an outcome, the client resends the closures when it resumes the session.
  if (core_.step.stopping && s->traits().resumable && e.call == call_id{}) return;
  if (s->traits().unary) flow_.renew_lease(*s, core_.step.now);
  session_reply appended{s->id, false, {}};
  if (auto wrong = pass_over(*s, e, appended.closures); !wrong.ok())
    return core_.step.answer(e.call, std::move(wrong));
  if (auto wrong = appendable(*s, e); !wrong.ok()) {
    if (!streaming || e.call != call_id{}) return core_.step.answer(e.call, std::move(wrong));
    if (s->traits().resumable && wrong.code != code::failed_precondition &&
        wrong.code != code::unavailable)
      return admission_.fail_all(*s, e.closures, failure_kind::input, wrong.message);
    for (auto const& spec : e.closures)
      if (!s->traits().resumable || !admission_.repeat(*s, spec.token))
        core_.step.fx.outcomes.push_back(
            {s->id,
             spec.token,
             false,
             {},
             failure{failure_kind::cancelled, "", wrong.message, "", "", 0},
             {}});
    return;
  }
  if (s->traits().resumable && e.call == call_id{})
    if (auto const why = no_place_to_hold(*s, e.closures.size()); !why.empty())
      return admission_.fail_all(*s, e.closures, failure_kind::cancelled, why);
  bool const ids = !streaming || (s->traits().resumable && e.call != call_id{});
  admission_.schedule_closures(*s, e.closures, ids ? &appended.closures : nullptr);
  core_.step.answer(e.call, {}, std::move(appended));
}

}  // namespace muster::core
