// Checks the invariants between two steps, in each sub-model and between them.
#include <algorithm>
#include <map>

#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {
std::string broken(std::string const& what, std::uint64_t is, std::uint64_t should_be) {
  return what + ": recorded " + std::to_string(is) + ", actual " + std::to_string(should_be);
}
}  // namespace

// Checks the reference counts of places.
std::string coordinator::state::leaked_place() const {
  std::vector<std::uint32_t> held(places.used());
  for (auto const& [stream, w] : registry.all()) ++held[w->place];
  closures.for_each([&](slot, closure_record const& r) {
    if (r.place != place_table::none) ++held[r.place];
    if (r.details)
      for (auto const& a : r.details->lost) ++held[a.place];
  });
  for (std::uint32_t p = 0; p < held.size(); ++p)
    if (places[p].references != held[p])
      return broken("references to place " + std::to_string(p), places[p].references, held[p]);
  return {};
}

std::string coordinator::state::miscounted_per_worker() const {
  std::map<per_worker_id, std::uint64_t> users;
  closures.for_each([&](slot, closure_record const& r) {
    if (!ended(r.state()) && r.details && r.details->extras)
      for (auto const id : r.details->extras->per_worker) ++users[id];
  });
  for (auto const& [id, v] : builds.all()) {
    if (v.users != users[id]) return broken("users of " + text(id), v.users, users[id]);
    for (auto const& [task, part] : v.components) {
      if (part.build != closure_id{} && closures.find(part.build) == no_slot)
        return text(id) + " waits for a build closure that does not exist";
      auto const* w = scheduler.find(part.stream);
      bool const built = w && std::binary_search(w->built.begin(), w->built.end(), id);
      if (w && built != (part.state == value_state::ready))
        return text(id) +
               ": its state on a worker does not match the worker's list of built values";
    }
    users.erase(id);
  }
  for (auto const& [id, count] : users)
    if (count > 0) return text(id) + " does not exist, but unfinished closures need it";
  return {};
}

std::string coordinator::state::misplaced_closure() const {
  std::map<session_number, std::uint32_t> kept, tokens;
  std::string wrong;
  closures.for_each([&](slot c, closure_record const& r) {
    auto const& s = sessions.of(r.owner);
    if (s.delivery() == delivery::build && r.worker == worker_number{})
      wrong = "a build closure has no worker";
    if (ended(r.state()) && !s.traits().keeps_records)
      wrong = "a finished closure is stored although its session stores none";
    if (!s.traits().resumable) return;
    kept[r.owner] += ended(r.state());
    tokens[r.owner] += r.token != 0;
    auto const known = s.by_token.find(r.token);
    if (r.token != 0 && (known == s.by_token.end() || known->second != closures.id_of(c)))
      wrong = text(closures.id_of(c)) + " cannot be found by its token";
  });
  for (auto const& [id, s] : sessions.all()) {
    if (s->held.size != kept[s->number])
      return broken("stored closures of " + text(id), s->held.size, kept[s->number]);
    if (s->by_token.size() != tokens[s->number])
      return broken("tokens of " + text(id), s->by_token.size(), tokens[s->number]);
    if (s->closed && flow.idle(*s) && !s->terminal())
      return text(id) + " is closed and idle but has not ended";
    if (s->terminal() && !flow.idle(*s)) return text(id) + " has ended but still has closures";
    if (flow.idle(*s) && s->traits().listed && s->sealed && !s->terminal())
      return text(id) + " is sealed and has no unfinished closures, but has not ended";
    if (s->stopping && of(*s).waiting() > of(*s).own_errors)
      return text(id) + " is stopping but still has waiting closures";
  }
  return wrong;
}

std::string coordinator::state::stray_alarm() const {
  std::size_t timed = 0;
  closures.for_each([&](slot, closure_record const& r) {
    timed += r.is(closure_phase::delayed);
    timed += r.details && r.details->deadline != never && !ended(r.state());
  });
  for (auto const& [stream, w] : registry.all()) timed += w->away, timed += w->waiting;
  for (auto const& [id, s] : sessions.all()) {
    timed += s->deadline != never && !s->terminal();
    timed += s->lease_alarm != never;
    timed += s->age_alarm != never;
  }
  timed += stateful.count_disconnected();
  timed += scheduler.idle_noted();
  for (auto const& [id, g] : scheduler.gangs.all())
    timed += g.impatient_at != never && !g.impatient;
  return timed == step.alarms.size() ? std::string() : broken("alarms", step.alarms.size(), timed);
}

// Checks that workers match their slots, and that sessions match the results that they still have
// to repeat.
std::string coordinator::state::mismatch() const {
  for (auto const& [stream, w] : registry.all()) {
    auto const& at = scheduler.of(w->number);
    if (at.stream != stream || at.open != w->open() || !at.placed)
      return w->task->name() + ": the slots in the scheduler do not belong to this worker";
    if (w->away && (at.running.size == 0 || at.prefetched.size > 0))
      return broken("running closures of disconnected " + w->task->name(), at.running.size,
                    at.held());
  }
  if (scheduler.all_workers().size() != registry.all().size())
    return "the scheduler has slots of a worker that is not registered";
  std::map<session_id, std::uint64_t> repeating;
  for (auto const& [id, s] : sessions.all()) repeating[id] = s->repeating;
  if (!values.repeats(repeating))
    return "the number of results that a session has to repeat is wrong";
  for (auto const& [id, s] : sessions.all())
    if (s->full && !flow.has_reason_to_hold_back(*s))
      return text(id) + " is held back without a reason";
  if (!step.ended_inputs.empty() || !step.failed_inputs.empty())
    return "a step has ended before all dependent closures were informed";
  return {};
}

std::string coordinator::violated_invariant() const {
  auto const& st = *state_;
  for (auto const& wrong :
       {st.book.invalid(), st.scheduler.invalid(!st.step.stopping), st.registry.invalid(),
        st.sessions.invalid(), st.values.invalid(), st.lineage.invalid(), st.builds.invalid(),
        st.failures.invalid(), st.watchdog.invalid(), st.stateful.invalid(), st.misplaced_closure(),
        st.stray_alarm(), st.mismatch(), st.leaked_place(), st.miscounted_per_worker(),
        st.programs.invalid()})
    if (!wrong.empty()) return wrong;
  return {};
}

}  // namespace muster::core
