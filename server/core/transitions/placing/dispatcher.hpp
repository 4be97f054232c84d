// Dispatches closures to workers at the end of a step, until no more closures fit. Used only on the
// engine thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/state/engine_state.hpp"
#include "server/core/transitions/lifecycle/lifecycle.hpp"
#include "server/core/transitions/placing/build_orders.hpp"

namespace muster::core {

class dispatcher {
 public:
  dispatcher(engine_state& core, lifecycle& life, build_orders& building)
      : core_(core), life_(life), building_(building) {}

  void dispatch();
  void retract();
  /// Returns up to five of the closures that have been running longest.
  std::vector<stalled_closure> oldest_running() const;
  /// Reports that no closure has finished for a while, if closures are expected to finish.
  void report_stall();
  void keep_a_worker_empty();

 private:
  void start_gangs();
  bool start_gang(std::uint64_t id);
  void keep_free_for(gang const& g);
  void start_exclusive_ones();
  void start_member(worker_slots& w, slot c);

  engine_state& core_;
  lifecycle& life_;
  build_orders& building_;
  std::vector<slot> run_;

  // Idle time before a retraction.
  static constexpr duration idle_for = std::chrono::milliseconds(50);
};

}  // namespace muster::core
