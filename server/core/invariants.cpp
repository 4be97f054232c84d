// Everything that must hold between two steps, recounted the slow way. Used by the simulator and
// the fuzzer after each step.
#include <set>

#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {
std::string broken(std::string const& what, std::uint64_t is, std::uint64_t should_be) {
  return what + ": " + std::to_string(is) + ", counted " + std::to_string(should_be);
}
}  // namespace

// Every place is held as often as something says that it ran there.
std::string coordinator::state::leaked_place() const {
  std::vector<std::uint32_t> held(places.used());
  for (auto const& [stream, w] : workers) ++held[w->place];
  for (slot c = 0; c < closures.used(); ++c) {
    auto const& r = closures[c];
    if (!r.owner) continue;
    if (r.place != place_table::none) ++held[r.place];
    if (r.details)
      for (auto const& a : r.details->lost) ++held[a.place];
  }
  for (std::uint32_t p = 0; p < held.size(); ++p)
    if (places[p].references != held[p])
      return broken("holders of place " + std::to_string(p), places[p].references, held[p]);
  return {};
}

std::string coordinator::violated_invariant() const {
  auto const& st = *state_;
  closure_counts live;
  std::map<session_id, closure_counts> by_session;
  std::map<worker const*, std::uint32_t> held;
  std::map<session_id, std::uint32_t> apart;
  std::size_t alive = 0, timed = 0;
  for (slot c = 0; c < st.closures.used(); ++c) {
    auto const& r = st.closures[c];
    if (!r.owner) continue;
    ++alive;
    auto const it = st.sessions.find(r.owner->id);
    if (it == st.sessions.end() || it->second.get() != r.owner)
      return "a closure belongs to a session that is gone";
    auto& counted = by_session[r.owner->id];
    if (r.state == closure_state::queued) ++live.queued, ++counted.queued;
    if (r.state == closure_state::blocked) {
      ++live.blocked, ++counted.blocked;
      if (!r.details || r.details->inputs_missing == 0)
        return text(st.closures.id_of(c)) + " is blocked and misses no input";
    }
    if (r.delayed && r.state != closure_state::queued) return "a delayed closure is not queued";
    if (r.delayed || r.state == closure_state::blocked) ++apart[r.owner->id];
    timed += r.delayed;
    timed += r.details && r.details->deadline != never && !ended(r.state);
    if (r.state == closure_state::running) {
      ++live.running, ++counted.running;
      if (!r.worker) return "a running closure has no worker";
      ++held[r.worker];
    } else if (r.worker) {
      return "a closure that does not run is held by a worker";
    }
    if (ended(r.state) && !r.owner->spec.keep_values)
      return "a finished closure of a streaming session is kept";
  }
  if (alive != st.closures.size()) return broken("closures", st.closures.size(), alive);
  if (live.queued != st.counts.queued) return broken("queued", st.counts.queued, live.queued);
  if (live.running != st.counts.running) return broken("running", st.counts.running, live.running);
  if (live.blocked != st.counts.blocked) return broken("blocked", st.counts.blocked, live.blocked);

  for (auto const& [stream, w] : st.workers) {
    if (w->stream != stream) return "a worker is listed under another stream";
    if (w->task->worker != w.get()) return "a worker is not the one its task names";
    if (!w->task->present()) return "an attached task is not present";
    if (w->holds.size != held[w.get()])
      return broken("held by " + w->task->name(), w->holds.size, held[w.get()]);
    if (w->holds.size > w->credits) return w->task->name() + " holds more than its credits";
    if (w->ready != w->wanted()) return w->task->name() + " stands in the wrong ring";
  }
  for (auto const& [key, t] : st.registry.rows())
    if (t->present() != (t->worker != nullptr))
      return t->name() + " is present without a worker, or the other way round";

  std::uint64_t bytes = 0;
  std::size_t held_back = 0;
  for (auto const& [id, s] : st.sessions) {
    auto const& counted = by_session[id];
    if (s->counts.queued != counted.queued)
      return broken(text(id) + " queued", s->counts.queued, counted.queued);
    if (s->counts.running != counted.running)
      return broken(text(id) + " running", s->counts.running, counted.running);
    if (s->counts.blocked != counted.blocked)
      return broken(text(id) + " blocked", s->counts.blocked, counted.blocked);
    if (s->apart.size != apart[id]) return broken(text(id) + " apart", s->apart.size, apart[id]);
    timed += s->deadline != never && !s->terminal();
    if (s->terminal() && !s->idle()) return text(id) + " has ended and still has closures";
    if (s->idle() && s->spec.keep_values && s->sealed && !s->terminal())
      return text(id) + " has nothing left and has not ended";
    if (s->stopping && s->waiting() > 0) return text(id) + " is stopping and has a queue";
    if (s->spec.keep_values && s->counts.total() != s->closures.size())
      return broken(text(id) + " closures", s->counts.total(), s->closures.size());
    if (s->terminal() && !s->joins.empty()) return text(id) + " has ended and is waited for";
    bytes += s->value_bytes;
    held_back += s->full;
  }
  if (bytes != st.value_bytes) return broken("value bytes", st.value_bytes, bytes);
  if (held_back != st.sessions_held_back)
    return broken("sessions held back", st.sessions_held_back, held_back);
  if (timed != st.alarms.size()) return broken("alarms", st.alarms.size(), timed);
  if (!st.ended_inputs.empty()) return "an ended input was left untold";
  if (!st.unsettled.empty()) return "a session was left unsettled";
  if (auto leak = st.leaked_place(); !leak.empty()) return leak;
  return st.placement.violated_invariant();
}

}  // namespace muster::core
