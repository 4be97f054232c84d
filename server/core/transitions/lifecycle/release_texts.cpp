// The texts.
#include "server/core/transitions/lifecycle/release_texts.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

namespace {

std::string in_seconds(duration d) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(d).count()) + " s";
}

}  // namespace

status release_texts::unknown_per_worker(per_worker_id id) const {
  return {code::not_found, core_.builds.was(id) ? text(id) + std::string(core_.builds.whereabouts())
                                                : "there is no " + text(id)};
}

std::string release_texts::when_and_why(release_note const& n) const {
  auto const bytes = [](std::uint64_t b) { return std::to_string(b) + " bytes"; };
  auto const why = [&]() -> std::string {
    switch (n.why) {
      case release_reason::client:
        return "its client released it, or took it as it came";
      case release_reason::session_end:
        return "its session has ended";
      case release_reason::job_deleted:
        return "its job was deleted";
      case release_reason::jobs:
        return "more jobs than --jobs-kept (" +
               std::to_string(core_.step.config.finished_jobs_max) + ") have finished since";
      case release_reason::bytes:
        return "values took more memory than --value-bytes-max (" +
               bytes(core_.step.config.value_bytes_max) +
               (core_.step.config.spill ? "), and --spill-dir did not take them"
                                        : "); --spill-dir would have kept it");
      case release_reason::age:
        return "it was older than --value-age (" + in_seconds(core_.step.config.value_age) + ")";
      case release_reason::session_values:
        return "its session held more values than --session-values-max (" +
               std::to_string(core_.step.config.session_values_max) + ")";
      case release_reason::session_bytes:
        return "its session's values took more than --session-value-bytes-max (" +
               bytes(core_.step.config.session_value_bytes_max) + ")";
      case release_reason::spill_bytes:
        return "values on the disk took more than --spill-bytes-max (" +
               bytes(core_.step.config.spill_bytes_max) + ")";
      case release_reason::unreadable:
        return "it could not be read back from --spill-dir; the log says why";
    }
    return "?";
  };
  return in_seconds(core_.step.now - n.at) + " ago: " + why();
}

std::string release_texts::released_text(closure_id id) const {
  auto const note = core_.values.note_of(id);
  return "the value of " + text(id) + " was released" +
         (note ? " " + when_and_why(*note) : std::string());
}

// As much as is known of a closure without a record, or without its value.
status release_texts::unknown_value(closure_id id) const {
  if (core_.values.note_of(id)) return {code::not_found, released_text(id)};
  if (auto const note = core_.closures.note_of(id))
    return {code::not_found, "the value of " + text(id) + " was released " + when_and_why(*note)};
  if (core_.closures.is_elsewhere(id))
    return {code::not_found, text(id) + " is of another cluster"};
  return {code::not_found, "there is no " + text(id) + ", or its value was released"};
}

status release_texts::unknown_session(session_id id) const {
  if (!core_.sessions.was(id)) return {code::not_found, "there is no " + text(id)};
  if (core_.sessions.find(id)) return {code::not_found, text(id) + " has ended"};
  auto const note = core_.sessions.note_of(id);
  return {code::not_found, text(id) + " is finished and forgotten" +
                               (note ? ", " + when_and_why(*note) : std::string())};
}

}  // namespace muster::core
