// PerWorkerValues: who has to build what, and when it is sent. A build is a closure of the core's
// own: sent before anything else, past the window (never past the credits). When its worker is lost
// it is forgotten and the next one builds anew; its outcome is a component's state.
//
// Owned by the coordinator, used within a step; engine thread only.
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

  /// Drops components of tasks that the registry has forgotten.
  void forget_components();
  /// Declares a value and has it built wherever it is expected. Takes the event. Errors go to its
  /// call.
  void create_value(create_per_worker& e);
  /// Releases it. NOT_FOUND.
  void delete_value(delete_per_worker const& e);
  /// Those of the session but for these tokens.
  void release_per_worker(session const& s, std::vector<std::uint64_t> const& but = {});
  /// Notes what a worker that has come must build, and has dropped what it need not keep.
  void expect_components(worker& w);
  /// Dispatches the builds that were noted, to workers that are open.
  void send_builds();
  /// As many tasks of the job as a declaration, a session or a value counts by index: a worker that
  /// comes without one takes a lost one's place there.
  std::int64_t reckoned_with(std::string const& job) const;
  /// The build did not come to its end; tried again where its worker is or comes back.
  void go_on_building(worker const& w, slot c);

 private:
  /// Whether the task is one of those that build the value.
  bool builds_it(task_row const& t, per_worker_entry const& v) const;
  std::uint32_t declared_for(per_worker_entry const& v) const;
  /// How many workers in a row its builder may lose before it is built with pauses only. 0: any
  /// number.
  std::uint32_t losses_max(per_worker_entry const& v) const;
  void expect_component(worker& w, per_worker_entry& v);
  /// The same for one whose builder has lost too many workers in a row: it is built after a pause.
  /// `died`: the last of them just now.
  void expect_quarantined(worker& w, per_worker_entry& v, per_worker_component& part, bool died);
  void expect_named();
  void send_build(worker& w, per_worker_entry& v);

  engine_state& core_;
  release_texts& texts_;
  session_flow& flow_;
  lifecycle& life_;
};

}  // namespace muster::core
