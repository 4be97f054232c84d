// Converts incidents and dropped values to log events. Events that clients can cause in large
// numbers are limited to a few per minute; the next event contains the number of suppressed events.
// Owned by a cluster's history; used only on the engine thread. Contains the events of one step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/changes.hpp"
#include "server/core/api/config.hpp"
#include "server/core/coordination/api/coordination_effects.hpp"
#include "server/history/log/pace.hpp"

namespace muster::history {

using muster::name;

using namespace muster::core;

enum class log_event_kind : std::uint8_t {
  worker_away = 0,
  worker_returned = 1,
  worker_lost = 2,
  worker_given_up = 3,
  task_cordoned = 4,
  task_uncordoned = 5,
  dependency_lost = 6,    ///< reported by a function, or a task with state was lost
  closure_exclusive = 7,  ///< shown as "closure_alone"
  builder_quarantined = 8,
  no_progress = 9,
  spill_failed = 10,    ///< a value could not be written to --spill-dir or read from it
  values_dropped = 11,  ///< released to stay within a limit, or recomputed afterwards
  job_failed = 12,
  session_failed = 13,
  program_failed = 14,
  objects_lost = 15,
  worker_start_delayed = 16,
};
constexpr auto enum_names(log_event_kind) {
  using enum log_event_kind;
  return enumerators<log_event_kind>(
      worker_away, "worker_away", worker_returned, "worker_returned", worker_lost, "worker_lost",
      worker_given_up, "worker_given_up", task_cordoned, "task_cordoned", task_uncordoned,
      "task_uncordoned", dependency_lost, "dependency_lost", closure_exclusive, "closure_alone",
      builder_quarantined, "builder_quarantined", no_progress, "no_progress", spill_failed,
      "spill_failed", values_dropped, "values_dropped", job_failed, "job_failed", session_failed,
      "session_failed", program_failed, "program_failed", objects_lost, "objects_lost",
      worker_start_delayed, "worker_start_delayed");
}

coordination::severity severity_of(log_event_kind);

struct log_event {
  log_event_kind kind{};
  std::string about;  ///< for example "worker:3" or "ps:1"
  std::string text;

  bool operator==(log_event const&) const = default;
};

class log_events {
 public:
  /// Minimum time between events about values released to stay within a limit.
  static constexpr duration drops_pause = std::chrono::minutes(1);

  /// `c` must outlive the object.
  explicit log_events(config const& c) : config_(c) {}

  void fold(changes const& c, time_point now) {
    pending_events_.clear();
    if (!c.incidents.empty()) tell(c, now);
    if (!c.values.empty() && now >= drops_told_until_) add_drop_event(c, now);
  }
  std::vector<log_event> const& pending_events() const { return pending_events_; }

  std::string invalid() const { return failures_.invalid(); }

 private:
  void tell(changes const& c, time_point now);
  void add_drop_event(changes const& c, time_point now);

  config const& config_;
  log_event_pace failures_;
  time_point drops_told_until_{};
  std::vector<log_event> pending_events_;
};

}  // namespace muster::history
