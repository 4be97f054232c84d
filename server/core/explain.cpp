// Why a closure waits, moved or failed, in one sentence with the facts.
#include <algorithm>

#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {
std::string ago(duration d) {
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  if (ms < 10'000) return std::to_string(ms) + " ms";
  return std::to_string(ms / 1000) + " s";
}
std::string plural(std::uint64_t n, std::string const& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}
}  // namespace

// Who would have the function, did they take closures; empty when nobody would.
std::string coordinator::state::not_serving(function_id f) const {
  std::uint64_t draining = 0, away = 0;
  for (auto const& [stream, w] : workers) {
    auto const& has = w->task->functions;
    if (std::find(has.begin(), has.end(), f) == has.end()) continue;
    if (w->away)
      ++away;
    else if (w->draining)
      ++draining;
  }
  if (draining + away == 0) return {};
  return "of the workers with '" + functions[f].name + "' " + std::to_string(draining) +
         " are draining and " + std::to_string(away) + " have lost their connection";
}

std::string coordinator::state::starting(function_id f) const {
  auto first = never;
  std::uint64_t count = 0;
  for (auto const& [stream, w] : workers) {
    auto const& has = w->task->functions;
    if (!w->serves() || std::find(has.begin(), has.end(), f) == has.end()) continue;
    if (!w->waiting) return {};
    first = std::min(first, w->starts_at);
    ++count;
  }
  return count == 0 ? std::string()
                    : plural(count, "worker") + " with '" + functions[f].name +
                          "' came lately and starts staggered, the first in " + ago(first - now);
}

// The inputs have ended and their values are still on the way.
std::string coordinator::state::awaited_input(closure_details const& d) const {
  for (auto const i : d.input_ids) {
    if (ledger.reads.contains(i)) return text(i) + ", which is read back from the disk";
    if (auto const it = ledger.rebuilds.find(i); it != ledger.rebuilds.end())
      return text(i) + ", whose value was lost and is made again by " + text(it->second.by);
  }
  return {};
}

result<std::string> coordinator::explain(closure_id id, time_point now) const {
  auto const& st = *state_;
  slot const c = st.closures.find(id);
  if (c == no_slot) return st.unknown_value(id);
  auto const& r = st.closures[c];
  auto const& s = *r.owner;
  auto const& f = st.functions[s.lanes[r.lane].function];
  auto const connected =
      st.registry.count(task_state::connected) + st.registry.count(task_state::late);
  std::string moved;
  if (r.details && !r.details->lost.empty()) {
    auto const& last = r.details->lost.back();
    bool const again = last.outcome.starts_with("succeeded; ");
    moved = again ? " Attempt " + std::to_string(last.attempt) + " " + last.outcome + "."
                  : " It was put back " + ago(now - last.ended) + " ago from " +
                        st.places[last.place].worker + " (" + last.outcome + ").";
  }
  switch (r.state) {
    case closure_state::blocked: {
      auto const& d = *r.details;
      std::string first;
      for (auto const i : d.input_ids) {
        slot const input = st.closures.find(i);
        if (input == no_slot || ended(st.closures[input].state)) continue;
        first = text(i) + ", which is " + std::string(name(st.closures[input].state));
        break;
      }
      if (first.empty()) first = st.awaited_input(d);
      return "BLOCKED for " + ago(now - r.created) + ": it waits for " +
             plural(d.inputs_missing, "input") + " of " + std::to_string(d.input_ids.size()) +
             ", among them " + first + "." + moved;
    }
    case closure_state::queued: {
      if (r.delayed)
        return "QUEUED, starts in " + ago(r.details->start_at - now) +
               (r.details->retries > 0
                    ? ": retry " + std::to_string(r.details->retries) + " of " +
                          std::to_string(r.details->extras->options.max_retries) + " after " +
                          r.details->lost.back().outcome + "."
                    : (r.details->lost.empty() ? ": it was scheduled with a delay."
                                               : " after " + r.details->lost.back().outcome + "."));
      if (r.ganged)
        return "QUEUED for " + ago(now - r.created) + ": " +
               state_->why_gang_waits(st.gangs.all.at(r.details->gang)) + "." + moved;
      std::string const queued = "QUEUED for " + ago(now - r.created) + ": ";
      if (st.stopping) return queued + "the server is shutting down." + moved;
      if (connected == 0) return queued + "no worker is connected." + moved;
      if (auto const without = st.not_serving(s.lanes[r.lane].function);
          f.workers == 0 && !without.empty())
        return queued + without + "." + moved;
      if (f.workers == 0)
        return queued + "none of the " + plural(connected, "connected worker") +
               " has the function '" + f.name + "'." + moved;
      if (auto const later = st.starting(s.lanes[r.lane].function); !later.empty())
        return queued + later + "." + moved;
      auto const requirement = s.lanes[r.lane].requirement;
      if (requirement != 0)
        if (auto const why = st.unmet(f, s.lanes[r.lane].function, st.requirements[requirement]);
            !why.empty())
          return queued + why + "." + moved;
      return queued + plural(f.workers, "worker") + " with '" + f.name +
             "' are busy or about to be served; the function has " + plural(f.queued, "closure") +
             " queued and " + std::to_string(f.running) + " running." + moved;
    }
    case closure_state::running:
      return "RUNNING on " + st.places[r.place].worker + " for " + ago(now - r.started) +
             ", attempt " + std::to_string(r.attempt) +
             (r.stop_requested ? "; it was asked to stop and has not answered." : ".") +
             (r.worker->away
                  ? " The worker's connection broke " + ago(now - r.worker->away_since) +
                        " ago; unless it comes back within " +
                        ago(st.waits_until(*r.worker, c) - now) + ", the closure is put back."
                  : "") +
             moved;
    case closure_state::succeeded:
      return "SUCCEEDED on " + st.places[r.place].worker + " after " + ago(r.finished - r.started) +
             ", attempt " + std::to_string(r.attempt) + "." + moved +
             (r.where == value_place::gone ? " " + st.released_text(id) + "." : "");
    case closure_state::failed:
    case closure_state::cancelled: {
      auto const& e = r.details->failure;
      return std::string(name(r.state)) + " (" + std::string(name(e.kind)) + ")" +
             (e.worker.empty() ? "" : " on " + e.worker) + ": " + e.message + "." + moved;
    }
  }
  return std::string();
}

}  // namespace muster::core
