#include "server/history/log/incident_texts.hpp"

#include "base/utf8.hpp"
#include "server/core/api/id_text.hpp"
#include "server/core/texts/reason_texts.hpp"

namespace muster::history {

namespace {

using kind = log_event_kind;

std::string whole_seconds(duration d) {
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  return ms < 10'000 ? std::to_string(ms) + " ms" : std::to_string(ms / 1000) + " s";
}

std::string in_minutes(duration d) {
  auto const s = std::chrono::duration_cast<std::chrono::seconds>(d).count();
  return s % 60 == 0 ? std::to_string(s / 60) + " min" : std::to_string(s) + " s";
}

std::string brief(incidents::session_failed const& f) {
  constexpr std::size_t most = 200;
  return shortened(f.type.empty() ? f.message : f.type + ": " + f.message, most);
}

struct words {
  config const& limits;
  time_point now;

  log_event operator()(incidents::worker_start_delayed const& i) const {
    return {kind::worker_start_delayed, i.task,
            "will get its first closure after a start delay of " + whole_seconds(i.delay)};
  }
  log_event operator()(incidents::worker_away const& i) const {
    return {kind::worker_away, i.task,
            i.why + "; " + std::to_string(i.running) +
                (i.running == 1 ? " closure that it may still be running waits"
                                : " closures that it may still be running wait") +
                " for it to reconnect"};
  }
  log_event operator()(incidents::worker_returned const& i) const {
    return {kind::worker_returned, i.task,
            "reconnected and continues with " + std::to_string(i.kept) + " of " +
                std::to_string(i.had) + (i.had == 1 ? " closure" : " closures")};
  }
  log_event operator()(incidents::worker_lost const& i) const {
    return {kind::worker_lost, i.task, i.why};
  }
  log_event operator()(incidents::worker_given_up const& i) const {
    return {kind::worker_given_up, i.task,
            absence(i.lost, i.away, i.why) + "; " + std::to_string(i.waited) +
                (i.waited == 1 ? " closure" : " closures") + " waited for it"};
  }
  log_event operator()(incidents::task_cordoned const& i) const {
    if (!i.on) return {kind::task_uncordoned, i.task, "was uncordoned"};
    return {kind::task_cordoned, i.task,
            "was cordoned: it receives no new work until it is uncordoned"};
  }
  log_event operator()(incidents::dependency_reported const& i) const {
    return {kind::dependency_lost, i.name,
            "reported by " + i.by + ", " + std::to_string(i.times) + " of " +
                std::to_string(i.limit) + " times within " + in_minutes(i.window) + ": " +
                i.message};
  }
  log_event operator()(incidents::state_lost const& i) const {
    return {kind::dependency_lost, i.task,
            "its state was lost (" + i.why + "); " + std::to_string(i.sessions) +
                (i.sessions == 1 ? " session" : " sessions") + " that relied on it ended"};
  }
  log_event operator()(incidents::closure_exclusive const& i) const {
    return {kind::closure_exclusive, text(i.closure),
            i.function + " has lost " + std::to_string(i.workers_lost) +
                (i.workers_lost == 1 ? " worker" : " workers") + "; the last was " + i.worker +
                ". From now on, the closure runs alone on its worker"};
  }
  log_event operator()(incidents::builder_quarantined const& i) const {
    auto const what = i.name.empty() ? text(i.value) : "'" + i.name + "'";
    return {kind::builder_quarantined, text(i.value),
            "the builder of per-worker value " + what + " has lost " +
                std::to_string(i.workers_lost) + (i.workers_lost == 1 ? " worker" : " workers") +
                " in a row; the last was " + i.worker + " (" + i.why +
                "). The value will be built again after " + whole_seconds(i.again_in) +
                (i.fails ? "; until then, calls that need it fail" : "")};
  }
  log_event operator()(incidents::no_progress const& i) const {
    auto said = "no closure has finished for " + whole_seconds(i.quiet) + ": " +
                std::to_string(i.running) +
                (i.running == 1 ? " closure is running, " : " closures are running, ") +
                std::to_string(i.queued) + (i.queued == 1 ? " is queued" : " are queued");
    char const* before = "; the oldest: ";
    for (auto const& c : i.oldest) {
      said += before + text(c.closure) + " (" + c.function + ") on " + c.worker + " for " +
              whole_seconds(now - c.since);
      before = ", ";
    }
    return {kind::no_progress, "closures", std::move(said)};
  }
  log_event operator()(incidents::spill_failed const& i) const {
    return {
        kind::spill_failed, "values",
        i.error +
            "; values stay in memory up to --value-bytes-max, then the oldest values are dropped"};
  }
  log_event operator()(incidents::value_unreadable const& i) const {
    return {kind::spill_failed, text(i.closure), i.error};
  }
  log_event operator()(incidents::closure_runs_again const& i) const {
    return {kind::values_dropped, text(i.closure),
            released(i.closure, i.why, i.ago, limits) +
                "; it is still needed and is being recomputed by " + text(i.by)};
  }
  log_event operator()(incidents::session_failed const& i) const {
    auto said = i.name.empty() ? "failed: " : i.name + " failed: ";
    said += brief(i);
    if (i.job && i.failed > 0)
      said += " (" + std::to_string(i.failed) + " of " + std::to_string(i.closures) +
              " closures failed)";
    return {i.job ? kind::job_failed : kind::session_failed, text(i.session), std::move(said)};
  }
  log_event operator()(incidents::program_failed const& i) const {
    return {kind::program_failed, text(i.program), "'" + i.name + "' failed: " + i.cause};
  }
};

}  // namespace

log_event told(incident const& i, config const& c, time_point now) {
  return std::visit(words{c, now}, i);
}

log_event told(objects::objects_lost const& l) {
  auto said = std::to_string(l.count);
  said += l.count == 1 ? " object on it is lost" : " objects on it are lost";
  char const* before = " (";
  for (auto const& one : l.first) {
    said += before + one;
    before = ", ";
  }
  if (!l.first.empty()) said += l.count > l.first.size() ? ", …)" : ")";
  return {kind::objects_lost, l.job + ":" + std::to_string(l.index), said + ": " + l.why};
}

log_event drop_event(closure_id value, release_reason why, config const& c) {
  return {kind::values_dropped, "values",
          released(value, why, {}, c) + "; further releases within the next minute are not logged"};
}

}  // namespace muster::history
