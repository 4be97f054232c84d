// Functions that a hub's owner provides.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/core/api/server_wide.hpp"
#include "server/history/log/log_events.hpp"
#include "server/hub/commit_gate.hpp"
#include "server/hub/log_event.hpp"
#include "server/hub/programs/program_hub.hpp"

namespace muster::server {

/// The outputs can be empty and must not call the hub.
struct event_publisher {
  using severity = core::coordination::severity;
  using output = std::function<void(log_event const&)>;

  std::string cluster = {};  // the main cluster if empty
  output to_feed = {};       // event feed only
  output to_log = {};        // log and event feed

  void publish(output const& to, severity s, std::string kind, std::string subject,
               std::string text) const {
    if (to) to({s, std::move(kind), cluster, std::move(subject), std::move(text)});
  }
  void publish(history::log_event const& e) const {
    if (!to_log) return;
    to_log({history::severity_of(e.kind), std::string(history::name(e.kind)), cluster, e.about,
            e.text});
  }
};

/// State that the hubs of a server share.
struct pool_dependencies {
  core::server_wide* wide = nullptr;  // null if this is the only hub
  // This hub's call IDs are greater than this number, and the next hub's IDs are greater than all
  // of this hub's IDs.
  std::uint64_t calls_above = 0;
  /// Called when the values exceed the server's limit, so that other hubs evict values later.
  std::function<void()> over_budget = {};
};

struct hub_dependencies {
  /// Unix microseconds; monotonic (see core/api/time.hpp).
  std::function<core::time_point()> now;
  /// Schedules a call of `hub::on_deadline`, replacing an earlier schedule.
  std::function<void(core::time_point)> arm;
  event_publisher events = {};
  /// Moves values to or from disk. Each move is answered later with core::values_moved. The
  /// function is empty if the core was configured without `spill`.
  std::function<void(std::vector<core::value_move>)> move_values = {};
  /// Called when a lost value was recomputed, possibly with a different result. Must not call the
  /// hub.
  std::function<void(core::closure_id)> recomputed = {};
  journal_dependencies journal = {};
  program_dependencies programs = {};
  pool_dependencies pool = {};
};

}  // namespace muster::server
