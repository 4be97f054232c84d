// Decides which workers build PerWorkerValues. A build is a closure of the core itself. Builds are
// sent before all other closures, and may exceed a worker's window but not its credits. If a
// build's worker is declared lost, the build is removed, and the next worker builds the value. The
// outcome of a build becomes a component's state. Used only on the engine thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/state/engine_state.hpp"
#include "server/core/transitions/lifecycle/lifecycle.hpp"
#include "server/core/transitions/lifecycle/release_texts.hpp"
#include "server/core/transitions/lifecycle/session_flow.hpp"

namespace muster::core {

class build_orders {
 public:
  build_orders(engine_state& core, release_texts& texts, session_flow& flow, lifecycle& life)
      : core_(core), texts_(texts), flow_(flow), life_(life) {}

  /// Deletes the components of tasks that the registry has removed.
  void forget_components();
  /// Creates a value, or answers the call with an error. Consumes the event.
  void create_value(create_per_worker& e);
  /// Deletes a value. Answers NOT_FOUND if the caller owns no such value.
  void delete_value(delete_per_worker const& e);
  /// Releases the session's values, except values with a token in `but`.
  void release_per_worker(session const& s, std::vector<std::uint64_t> const& but = {});
  /// Schedules the builds of a newly attached worker, and makes it drop values that it need not
  /// keep.
  void expect_components(worker& w);
  void send_builds();
  /// Returns how many tasks of the job a declaration, a session or a value expects. A worker
  /// without an index can take a lost worker's index if the index is below that number.
  std::int64_t expected_tasks(std::string const& job) const;
  /// Continues a build that was moved to the worker's new stream and must not be sent again.
  void continue_build(worker const& w, slot c);

 private:
  bool builds_it(task_row const& t, per_worker_entry const& v) const;
  std::uint32_t declared_for(per_worker_entry const& v) const;
  /// Returns how many workers in a row a build can lose before it is repeated only after pauses. 0
  /// means that there is no limit.
  std::uint32_t losses_max(per_worker_entry const& v) const;
  void expect_component(worker& w, per_worker_entry& v);
  /// @param died whether the build has just lost another worker.
  void expect_quarantined(worker& w, per_worker_entry& v, per_worker_component& part, bool died);
  void expect_named();
  void send_build(worker& w, per_worker_entry& v);

  engine_state& core_;
  release_texts& texts_;
  session_flow& flow_;
  lifecycle& life_;
};

}  // namespace muster::core
