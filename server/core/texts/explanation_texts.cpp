#include "server/core/texts/explanation_texts.hpp"

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "server/core/api/id_text.hpp"
#include "server/core/texts/attempt_texts.hpp"

namespace muster::core {

namespace {

std::string ago(duration d) {
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  if (ms < 10'000) return std::to_string(ms) + " ms";
  return std::to_string(ms / 1000) + " s";
}

std::string milliseconds(duration d) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(d).count()) + " ms";
}

std::string seconds(duration d) {
  auto const tenths = (std::chrono::ceil<std::chrono::milliseconds>(d).count() + 99) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

std::string text(unmet_need const& n, std::string const& function) {
  auto const what = [&]() -> std::string {
    switch (n.what) {
      case unmet_need::kind::by_name:
        return "accepts closures that do not select it with the option 'task', because workers of "
               "this role hold state";
      case unmet_need::kind::task:
        return "is task " + n.name;
      case unmet_need::kind::label:
        return "has the label " + n.name + "=" + n.value;
      case unmet_need::kind::resource:
        return "has " + n.name + "=" + std::to_string(n.amount);
      case unmet_need::kind::free:
        return "has " + n.name + "=" + std::to_string(n.amount) + " free";
      case unmet_need::kind::per_worker:
        return "has built " + n.name + " yet" +
               (n.value.empty() ? "" : "; it will be built again after a pause: " + n.value);
    }
    return {};
  };
  return "of " + counted(n.of, "worker") + " with '" + function + "', none " + what();
}

std::string number_with_is(std::uint64_t n) {
  return std::to_string(n) + (n == 1 ? " is" : " are");
}

constexpr std::string_view exec_function = "muster.exec";

/// Returns "3.11" for "python:3.11", and an empty string for other functions.
std::string python_version(std::string const& function) {
  constexpr std::string_view family = "python:";
  if (!function.starts_with(family)) return {};
  auto version = function.substr(family.size());
  return version.find_first_not_of("0123456789.") == std::string::npos ? version : std::string();
}

std::string how_to_start(std::string const& function) {
  if (auto const version = python_version(function); !version.empty())
    return "start one with 'python" + version + " -m muster worker'";
  if (function == exec_function) return "start one with 'muster worker --allow-exec'";
  if (function.starts_with("muster.")) return "start one with 'muster worker'";
  return "start one that provides '" + function + "'";
}

// Returns "1 is draining, 2 are cordoned and 1 has lost its connection", without numbers that are
// 0.
std::string unavailable(worker_shortage const& l) {
  std::vector<std::string> parts;
  if (l.draining > 0) parts.push_back(number_with_is(l.draining) + " draining");
  if (l.cordoned > 0) parts.push_back(number_with_is(l.cordoned) + " cordoned");
  if (l.away > 0)
    parts.push_back(std::to_string(l.away) +
                    (l.away == 1 ? " has lost its connection" : " have lost their connection"));
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 < parts.size() ? ", " : " and ") + parts[i];
  return text;
}

std::string held_back(worker_shortage const& l) {
  auto said = "all workers that could run it are unavailable: " + unavailable(l);
  if (l.cordoned > 0)
    said += ", such as " + l.cordoned_task + "; run 'muster uncordon " + l.cordoned_task + "'";
  return said;
}

std::string list_of(std::vector<std::string> const& all) {
  std::string said;
  for (std::size_t i = 0; i < all.size(); ++i)
    said.append(i == 0 ? "" : i + 1 == all.size() ? " and " : ", ").append(all[i]);
  return said;
}

std::string made_again(explanation const& e) {
  auto const& place = *e.place;
  auto said = text(e.input) + ", whose value";
  if (place.bytes > 0) said += " of " + counted(place.bytes, "byte");
  if (!place.holders.empty()) said += " in the memory of " + list_of(place.holders);
  return said + " was lost: " + text(place.made_by) + " has been recomputing it for " +
         ago(place.recomputing_for);
}

std::string elsewhere(explanation const& e) {
  auto said = "its input " + text(e.input);
  auto const& place = *e.place;
  if (place.bytes > 0) said += ", " + counted(place.bytes, "byte") + ",";
  if (place.holders.empty())
    return said + " is currently not available: it was in the memory of a worker";
  return said + " is in the memory of " + list_of(place.holders) +
         ", not of the worker that runs the closure";
}

std::string input_of(explanation const& e) {
  auto const first = text(e.input);
  switch (e.why) {
    case closure_reason::input_read_back:
      return first + ", which is being read back from disk";
    case closure_reason::input_made_again:
      return made_again(e);
    default:
      return first + ", which is " + std::string(name(e.input_state));
  }
}

/// Returns why the closure starts later. Empty if only the time is known.
std::string why_later(explanation const& e) {
  auto const after = e.lost_attempt == 0 ? std::string() : " after " + text(e.lost);
  if (e.why == closure_reason::may_return)
    return ": it was running when the server restarted, and its worker can reconnect with it until "
           "then";
  if (e.why == closure_reason::retry)
    return ": retry " + std::to_string(e.retries) + " of " + std::to_string(e.retries_max) + after;
  return after.empty() ? ": it was scheduled with a delay" : after;
}

std::string prefetched(explanation const& e) {
  return "prefetched to " + e.worker + " (" + ago(e.prefetched_for) + " ago), whose " +
         counted(e.slots, "slot") + " " + (e.slots == 1 ? "is" : "are") +
         " busy; it moves to another worker that can run it once that worker is idle" +
         (e.retracted ? ", and the server has already requested it back." : ".");
}

std::string exclusive(explanation const& e) {
  std::string const waits = "it is waiting for a worker that runs no other closures";
  if (e.draining_worker.empty()) return waits + ".";
  return waits + "; " + e.draining_worker + " is being emptied for it and still has " +
         counted(e.draining_closures, "closure") + ".";
}

std::string busy(explanation const& e) {
  return counted(e.function_workers, "worker") + " with '" + e.function +
         (e.function_workers == 1 ? "' is" : "' are") +
         " busy or about to receive work; the function has " +
         counted(e.function_queued, "closure") + " queued and " +
         std::to_string(e.function_running) + " running.";
}

bool starts_later(explanation const& e) {
  return e.why == closure_reason::delay || e.why == closure_reason::retry ||
         e.why == closure_reason::pause || e.why == closure_reason::may_return;
}

std::string before(explanation const& e) {
  std::string said;
  if (e.workers_lost > 0)
    said = " It lost its worker " + std::to_string(e.workers_lost) +
           (e.workers_lost == 1 ? " time" : " times") + ", so it runs alone on its worker.";
  if (e.lost_attempt == 0 || starts_later(e)) return said;
  if (e.lost.how == attempt_end::value_lost)
    return said + " Attempt " + std::to_string(e.lost_attempt) + " " + text(e.lost) + ".";
  return said + " It was requeued " + ago(e.lost_ago) + " ago from " + e.lost_worker + " (" +
         text(e.lost) + ").";
}

std::string of_versions(explanation const& e) {
  if (!e.version || e.version->present.empty()) return {};
  auto const& v = *e.version;
  return " Connected workers have " + text_of_versions(v.present) + "; unless one with " +
         v.wanted + " connects within " + milliseconds(v.fails_in) + ", it fails.";
}

std::string waited_for(explanation const& e) {
  if (!e.waits) return {};
  auto const said = std::string(", waiting for a value; its slot is free for other closures");
  if (e.why == closure_reason::input_made_again) return said + "; " + made_again(e);
  return e.why == closure_reason::input_elsewhere ? said + "; " + elsewhere(e) : said;
}

std::string running(explanation const& e) {
  return "RUNNING on " + e.worker + " for " + ago(e.lasted) + ", attempt " +
         std::to_string(e.attempt) + waited_for(e) +
         (e.stop_requested ? "; it was asked to stop and has not answered." : ".") +
         (e.away_for ? " The worker's connection broke " + ago(*e.away_for) +
                           " ago; unless it reconnects within " + ago(e.requeue_in) +
                           ", the closure is requeued."
                     : "");
}

std::string ended(explanation const& e) {
  auto const state = std::string(name(e.state));
  auto const on = e.worker.empty() ? std::string() : " on " + e.worker;
  if (e.error) {
    auto const& by = e.error->worker;
    auto const where = e.is_row ? on : by.empty() ? std::string() : " on " + by;
    return state + " (" + std::string(name(e.error->kind)) + ")" + where + ": " + e.error->message +
           ".";
  }
  auto const took = e.is_row ? milliseconds(e.lasted) : ago(e.lasted);
  return state + on + " after " + took + ", attempt " + std::to_string(e.attempt) + ".";
}

}  // namespace

std::string text_of_missing_function(std::string const& function) {
  if (auto const version = python_version(function); !version.empty())
    return "no Python " + version + " worker is connected; " + how_to_start(function);
  auto const missing = "no connected worker provides '" + function + "'; ";
  return missing + (function == exec_function
                        ? how_to_start(function)
                        : "run 'muster functions' to list the functions that workers provide");
}

std::string text_of_versions(std::vector<std::string> const& present) {
  constexpr std::size_t shown = 5;
  std::string said;
  for (std::size_t i = 0; i < std::min(present.size(), shown); ++i) {
    bool const last = i + 1 == present.size();
    said.append(i == 0 ? "" : last ? " and " : ", ").append(present[i]);
  }
  return present.size() > shown ? said + " and others" : said;
}

std::string text(gang_wait const& g) {
  auto const of = std::to_string(g.size) + " closures of gang '" + g.name + "'";
  if (g.ready < g.size)
    return std::to_string(g.size - g.ready) + " of the " + of +
           (g.size - g.ready == 1 ? " is" : " are") + " not ready to start yet";
  if (!g.possible)
    return "the connected workers have no room for the " + of + " at the same time, even when idle";
  return "the " + of + " are waiting until that many slots are idle at the same time";
}

std::string text(worker_shortage const& l) {
  switch (l.why) {
    case closure_reason::server_stops:
      return "the server is shutting down";
    case closure_reason::no_worker:
      return "no worker is connected; " + how_to_start(l.function);
    case closure_reason::function_unseen:
      return text_of_missing_function(l.function);
    case closure_reason::function_absent:
      return text_of_missing_function(l.function) + "; workers that provided it have left";
    case closure_reason::workers_closed:
      return "no worker with '" + l.function + "' accepts closures: " + unavailable(l);
    case closure_reason::workers_start:
      return counted(l.starting, "worker") + " with '" + l.function +
             (l.starting == 1 ? "' connected recently and starts"
                              : "' connected recently and start") +
             " after a delay, the first in " + ago(l.starts_in);
    case closure_reason::unsatisfiable:
      return l.need ? text(*l.need, l.function)
                    : "no connected worker has everything that the closure requires";
    case closure_reason::workers_held_back:
      return held_back(l);
    default:
      return {};
  }
}

std::string cause(explanation const& e) {
  if (e.lack) return text(*e.lack) + ".";
  switch (e.why) {
    case closure_reason::input_not_ready:
    case closure_reason::input_read_back:
    case closure_reason::input_made_again:
      return "it is waiting for " + std::to_string(e.inputs_missing) + " of " +
             counted(e.inputs, "input") + ", including " + input_of(e) + ".";
    case closure_reason::pause:
      if (e.losses > 0)
        return "will be retried in " + seconds(e.starts_in) + " after " +
               counted(e.losses, "lost worker") + ": " + e.lost.detail + " (" + e.lost_worker +
               ").";
      [[fallthrough]];
    case closure_reason::delay:
    case closure_reason::retry:
    case closure_reason::may_return:
      return "starts in " + ago(e.starts_in) + why_later(e) + ".";
    case closure_reason::prefetched:
      return prefetched(e);
    case closure_reason::gang_not_ready:
    case closure_reason::gang_too_large:
    case closure_reason::gang_waits:
      return text(*e.gang) + ".";
    case closure_reason::exclusive:
      return exclusive(e);
    case closure_reason::busy:
      return busy(e);
    default:
      return {};
  }
}

std::string text(explanation const& e) {
  auto const lost = before(e) + of_versions(e);
  switch (e.state) {
    case closure_state::blocked:
      return "BLOCKED for " + ago(e.lasted) + ": " + cause(e) + lost;
    case closure_state::queued:
      return (starts_later(e) ? "QUEUED, " : "QUEUED for " + ago(e.lasted) + ": ") + cause(e) +
             lost;
    case closure_state::running:
      return running(e) + lost;
    default:
      return ended(e) + lost + (e.released.empty() ? "" : " " + e.released + ".") +
             (e.is_row ? " Its session keeps no further details about it." : "");
  }
}

}  // namespace muster::core
