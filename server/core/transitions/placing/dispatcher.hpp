// The last part of a step: closures go to workers until nothing fits any more.
//
// Owned by the coordinator, used within a step; engine thread only.
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
  /// Workers with an idle slot have waited for long enough: what was prefetched to others and they
  /// can run is asked back.
  void retract();
  /// The closures that have run for longest, five at most.
  std::vector<stalled_closure> oldest_running() const;
  /// Tells people that nothing has finished for a while, if anything is waited for.
  void report_stall();
  /// Closures that run alone have waited for long enough: a worker is kept empty for one of them.
  void keep_a_worker_empty();

 private:
  void start_gangs();
  /// True: it has started.
  bool start_gang(std::uint64_t id);
  void keep_free_for(gang const& g);
  void start_exclusive_ones();
  void start_member(worker_slots& w, slot c);

  engine_state& core_;
  lifecycle& life_;
  build_orders& building_;
  std::vector<slot> run_;  // scratch

  static constexpr duration idle_for = std::chrono::milliseconds(50);  // before a retraction
};

}  // namespace muster::core
