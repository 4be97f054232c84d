// What a hub is given by who makes it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/core/api/effects.hpp"
#include "server/core/api/server_wide.hpp"
#include "server/history/programs/black_box.hpp"
#include "server/hub/commit_queue.hpp"
#include "server/hub/log_event.hpp"
#include "server/hub/programs/program_clusters.hpp"

namespace muster::server {

/// What a hub shares with the others of its server.
struct pool_dependencies {
  core::server_wide* wide = nullptr;  // null: it is alone
  std::uint64_t calls_above = 0;      // its calls have greater numbers, up to the next hub's
  /// More values are kept than the server may: the others are to make room. Not from inside.
  std::function<void()> over_budget = {};
};

/// What the hub needs from outside; real in the engine, by hand in tests.
struct hub_dependencies {
  /// Monotonic, in Unix microseconds (see core/api/time.hpp).
  std::function<core::time_point()> now;
  /// Arrange for `hub::on_deadline` to be called at this time; replaces an earlier arrangement.
  std::function<void(core::time_point)> arm;
  /// A line for the event feed: workers that come and go. May be empty. Must not call the hub back.
  std::function<void(log_event const&)> tell = {};
  /// The same for what the core says as log events, which nobody else has logged.
  std::function<void(log_event const&)> log = {};
  /// Move these values to the disk or back, and answer each with a core::values_moved, later. Empty
  /// where the core was configured without `spill`.
  std::function<void(std::vector<core::value_move>)> move_values = {};
  /// The value of this closure was lost and is there again, another one perhaps. Must not call the
  /// hub back.
  std::function<void(core::closure_id)> made_again = {};
  std::string cluster = {};  // its name in log events; empty: the main one
  /// Gives what a step changed of durable jobs to the journal, which says in `commits` how far it
  /// is. Empty where the core was configured without `durable`.
  std::function<void(std::vector<core::fact> const&)> write_down = {};
  /// The same of programs. REQUIRES: set when write_down is.
  std::function<void(std::vector<core::programs::fact> const&)> write_down_programs = {};
  /// The record of an attempt has changed, or, null, goes.
  std::function<void(history::black_box::name const&, core::attempt_record const*)> write_record =
      {};
  commit_queue* commits = nullptr;  // REQUIRES: set when write_down is; outlives the hub
  /// More waits to be written than may: nothing new is taken that would have to be.
  /// OK: it takes more.
  std::function<muster::status()> journal_refusal = {};
  pool_dependencies pool = {};
  /// Of its programs; outlives the hub. Null: programs have none.
  program_clusters* coordination = nullptr;
};

}  // namespace muster::server
