#include "server/core/transitions/sessions/resumable_sessions.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

void resumable_sessions::release_one(slot c) {
  auto& r = core_.closures[c];
  auto const* read = core_.values.find_reading(core_.closures.id_of(c));
  bool const told = !read || read->repeat == session_id{};
  if (ended(r.state()) && told) return life_.keep_for_others(c) ? void() : life_.forget_held(c);
  r.released = true;
  core_.book.report_move(c, move_reason::unwanted);
  if (ended(r.state())) core_.values.forget_value(c);  // the outcome has not been repeated yet
}

void resumable_sessions::release_held(release_values const& e) {
  auto* s = core_.sessions.find(e.session);
  if (!s || s->closed) return core_.step.answer(e.call, texts_.unknown_session(e.session));
  if (!s->traits().resumable)
    return core_.step.answer(
        e.call, {code::failed_precondition,
                 text(s->id) + " does not hold values (hold_values), so it cannot be resumed"});
  if (s->traits().unary) flow_.renew_lease(*s, core_.step.now);
  for (auto const token : e.tokens)
    if (auto const it = s->by_token.find(token); it != s->by_token.end())
      release_one(core_.closures.find(it->second));
  for (auto const id : e.closures)
    if (slot const c = core_.closures.find(id);
        c != no_slot && core_.closures[c].owner == s->number)
      release_one(c);
  core_.step.answer(e.call, {});
}

void resumable_sessions::suspend(suspend_session const& e) {
  auto* s = core_.sessions.find(e.session);
  if (!s || s->closed) return;
  check(s->traits().resumable, "only a resumable session can be suspended");
  s->attached = false;
  core_.sessions.report_change(*s);
  s->lease_until = never;
  flow_.renew_lease(*s, core_.step.now);
}

void resumable_sessions::resume(resume_session const& e) {
  if (core_.step.refuse_when_stopping(e.call)) return;
  auto* s = core_.sessions.find(e.session);
  if (!s || s->closed) return core_.step.answer(e.call, texts_.unknown_session(e.session));
  if (!s->traits().resumable || s->traits().unary)
    return core_.step.answer(e.call,
                             {code::failed_precondition, text(s->id) + " cannot be resumed"});
  s->attached = true;
  s->client = e.client;
  s->lease_until = never;
  if (s->lease_alarm != never)
    core_.step.alarms.clear(std::exchange(s->lease_alarm, never), alarm_kind::session_lease,
                            raw(s->id));
  s->sealed = false;
  core_.sessions.report_change(*s);
  std::vector<std::uint64_t> wanted(e.tokens);
  std::sort(wanted.begin(), wanted.end());
  std::vector<closure_id> unwanted;
  for (auto const& [token, id] : s->by_token)
    if (!std::binary_search(wanted.begin(), wanted.end(), token)) unwanted.push_back(id);
  std::sort(unwanted.begin(), unwanted.end());  // makes the order independent of the hash table
  for (auto const id : unwanted) {
    slot const c = core_.closures.find(id);
    keeping_.do_not_repeat(*s, id);
    release_one(c);
  }
  building_.release_per_worker(*s, e.per_worker);
  resume_reply r{s->generation, 0, {}};
  if (s->stopping && s->first_error) {
    r.failed_generation = s->generation;
    r.failure = *s->first_error;
  } else if (s->raised) {
    r.failed_generation = s->raised_generation;
    r.failure = *s->raised;
  }
  core_.step.answer(e.call, {}, std::move(r));
}

}  // namespace muster::core
