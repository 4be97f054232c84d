// The sentences, state by state.
#include "server/core/moves/explainer.hpp"

#include <algorithm>

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
std::string explainer::not_serving(function_id f) const {
  std::uint64_t draining = 0, cordoned = 0, away = 0;
  for (auto const& [stream, w] : roster_.all()) {
    auto const& has = w->task->functions;
    if (std::find(has.begin(), has.end(), f) == has.end()) continue;
    if (w->away)
      ++away;
    else if (w->draining)
      ++draining;
    else if (w->task->cordoned)
      ++cordoned;
  }
  if (draining + cordoned + away == 0) return {};
  return "of the workers with '" + book_.functions[f].name + "' " + std::to_string(draining) +
         " are draining" + (cordoned > 0 ? ", " + std::to_string(cordoned) + " are cordoned" : "") +
         " and " + std::to_string(away) + " have lost their connection";
}

std::string explainer::starting(function_id f) const {
  auto first = never;
  std::uint64_t count = 0;
  for (auto const& [stream, w] : roster_.all()) {
    auto const& has = w->task->functions;
    if (!w->serves() || std::find(has.begin(), has.end(), f) == has.end()) continue;
    if (!w->waiting) return {};
    first = std::min(first, w->starts_at);
    ++count;
  }
  return count == 0
             ? std::string()
             : plural(count, "worker") + " with '" + book_.functions[f].name +
                   "' came lately and starts staggered, the first in " + ago(first - step_.now);
}

// The inputs have ended and their values are still on the way.
std::string explainer::awaited_input(closure_details const& d) const {
  for (auto const i : d.input_ids) {
    if (values_.find_reading(i)) return text(i) + ", which is read back from the disk";
    if (auto const* again = values_.find_rebuilding(i))
      return text(i) + ", whose value was lost and is made again by " + text(again->by);
  }
  return {};
}

// The closure waits for its gang.
std::string explainer::why_gang_waits(gang const& g, bool fits) const {
  auto const of = std::to_string(g.size) + " closures of gang '" + g.name + "'";
  if (g.ready < g.size)
    return std::to_string(g.size - g.ready) + " of the " + of + " are not ready to start yet";
  if (!fits)
    return "the connected workers have no room for the " + of + " at one time, even when idle";
  return "the " + of + " wait until as many slots are idle at one time";
}

std::string explainer::without_worker(slot c) const {
  auto const function = book_.functions.served(closures_[c].function);
  auto const& f = book_.functions[function];
  auto const connected =
      roster_.tasks.count(task_state::connected) + roster_.tasks.count(task_state::late);
  if (step_.stopping) return "the server is shutting down.";
  // A server that took over knows nothing of what workers had before.
  auto const never_had = "has had the function '" + f.name + "' since this server began.";
  if (connected == 0) return "no worker is connected" + (f.ever_had ? "." : ", none " + never_had);
  if (!f.ever_had) return "no worker " + never_had + " Is its name right?";
  if (auto const without = not_serving(function); f.workers == 0 && !without.empty())
    return without + ".";
  if (f.workers == 0)
    return "none of the " + plural(connected, "connected worker") + " has the function '" + f.name +
           "'.";
  if (auto const later = starting(function); !later.empty()) return later + ".";
  auto const requirement = scheduler_.lane_of(c).requirement;
  auto const needs = requirement == 0 ? core::requirement{} : scheduler_.required(requirement);
  auto const why = scheduler_.unmet(f.name, function, needs);
  if (!why.empty()) return why + ".";
  return held_back(c);
}

explainer::takers explainer::takers_of(lane const& l) const {
  takers found;
  for (auto const& [stream, w] : roster_.all()) {
    if (!scheduler_.would_do(scheduler_.of(w->number), l)) continue;
    if (w->draining) {
      ++found.draining;
    } else if (w->task->cordoned) {
      if (auto name = w->task->name(); found.cordoned++ == 0 || name < found.first_cordoned)
        found.first_cordoned = std::move(name);
    } else {
      ++found.serving;
    }
  }
  return found;
}

std::string explainer::held_back(slot c) const {
  auto const found = takers_of(scheduler_.lane_of(c));
  if (found.serving > 0 || found.cordoned + found.draining == 0) return {};
  auto text = "of the workers that could run it " + std::to_string(found.draining) +
              " are draining and " + std::to_string(found.cordoned) + " are cordoned";
  if (found.cordoned > 0)
    text += ", such as " + found.first_cordoned + ": muster uncordon " + found.first_cordoned;
  return text + ".";
}

bool explainer::has_no_worker(slot c) const {
  auto const& r = closures_[c];
  return r.state == closure_state::queued && !r.sent() && !r.deferred() &&
         !without_worker(c).empty();
}

std::string explainer::why_it_waits_alone(slot c) const {
  auto const& keeps = scheduler_.lone.keeps;
  auto const* w = keeps.by == closures_.id_of(c) ? roster_.find(keeps.worker) : nullptr;
  std::string const waits = "it waits for a worker that does nothing else";
  if (!w) return waits + ".";
  return waits + "; " + w->task->name() + " is being emptied for it and still holds " +
         plural(scheduler_.of(w->number).held(), "closure") + ".";
}

std::string explainer::explain(slot c, time_point now) const {
  auto const id = closures_.id_of(c);
  auto const& r = closures_[c];
  std::string lone;
  if (r.alone)
    lone = " It lost its worker " + std::to_string(r.details->workers_lost) +
           " times, so it runs alone: its worker does nothing else meanwhile.";
  auto moved = lone;
  if (r.details && !r.details->lost.empty()) {
    auto const& last = r.details->lost.back();
    bool const again = last.outcome.starts_with("succeeded; ");
    moved += again ? " Attempt " + std::to_string(last.attempt) + " " + last.outcome + "."
                   : " It was put back " + ago(now - last.ended) + " ago from " +
                         places_[last.place].worker + " (" + last.outcome + ").";
  }
  switch (r.state) {
    case closure_state::blocked: {
      auto const& d = *r.details;
      std::string first;
      for (auto const i : d.input_ids) {
        slot const input = closures_.find(i);
        if (input == no_slot || ended(closures_[input].state)) continue;
        first = text(i) + ", which is " + std::string(name(closures_[input].state));
        break;
      }
      if (first.empty()) first = awaited_input(d);
      return "BLOCKED for " + ago(now - r.created) + ": it waits for " +
             plural(d.inputs_missing, "input") + " of " + std::to_string(d.input_ids.size()) +
             ", among them " + first + "." + moved;
    }
    case closure_state::queued: {
      if (r.delayed) {
        auto const& d = *r.details;
        auto const after = d.lost.empty() ? std::string() : " after " + d.lost.back().outcome;
        auto const retry = ": retry " + std::to_string(d.retries) + " of ";
        auto const starts = "QUEUED, starts in " + ago(d.start_at - now);
        bool const delays = d.extras && d.extras->options.delay > duration{};
        if (r.restored && d.retries == 0 && !delays)
          return starts + ": it ran when the server was started again, and its worker may come " +
                 "back with it until then." + lone;
        if (d.retries > 0)
          return starts + retry + std::to_string(d.extras->options.max_retries) + after + "." +
                 lone;
        return starts + (after.empty() ? ": it was scheduled with a delay" : after) + "." + lone;
      }
      if (r.sent()) {
        auto const& at = scheduler_.of(r.worker);
        return "QUEUED for " + ago(now - r.created) + ": sent ahead to " + places_[r.place].worker +
               " " + ago(now - r.started) + " ago, whose " + plural(at.own_slots(), "slot") + " " +
               (at.own_slots() == 1 ? "is" : "are") +
               " busy; it goes to another worker that can run it once one is idle" +
               (r.recalled ? ", and was asked for already." : ".") + moved;
      }
      std::string const queued = "QUEUED for " + ago(now - r.created) + ": ";
      if (r.ganged && !r.alone) {
        auto const& g = *scheduler_.gangs.find(r.details->gang);
        bool const fits = g.ready < g.size || !scheduler_.plan(g, false).empty();
        return queued + why_gang_waits(g, fits) + "." + moved;
      }
      bool const kept = scheduler_.lone.keeps.by == id;
      if (auto const why = without_worker(c); !why.empty() && !kept) return queued + why + moved;
      if (r.alone) return queued + why_it_waits_alone(c) + moved;
      auto const f = book_.functions.totals(book_.functions.served(r.function));
      return queued + plural(f.workers, "worker") + " with '" + f.name +
             "' are busy or about to be served; the function has " + plural(f.queued, "closure") +
             " queued and " + std::to_string(f.running) + " running." + moved;
    }
    case closure_state::running: {
      auto const& w = roster_.of(r.worker);
      return "RUNNING on " + places_[r.place].worker + " for " + ago(now - r.started) +
             ", attempt " + std::to_string(r.attempt) +
             (r.waits ? ", waits for a value: its slot is free for others meanwhile" : "") +
             (r.stop_requested ? "; it was asked to stop and has not answered." : ".") +
             (w.away ? " The worker's connection broke " + ago(now - w.away_since) +
                           " ago; unless it comes back within " +
                           ago(workers_.waits_until(w, c) - now) + ", the closure is put back."
                     : "") +
             moved;
    }
    case closure_state::succeeded:
      return "SUCCEEDED on " + places_[r.place].worker + " after " + ago(r.finished - r.started) +
             ", attempt " + std::to_string(r.attempt) + "." + moved +
             (r.where == value_place::gone ? " " + texts_.released_text(id) + "." : "");
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
