// The last part of a step: closures go to workers until nothing fits any more.
//
// Owned by the coordinator, used within a step; engine thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/closures/closure_book.hpp"
#include "server/core/moves/build_orders.hpp"
#include "server/core/moves/closure_life.hpp"
#include "server/core/moves/step_frame.hpp"
#include "server/core/per_worker/component_builds.hpp"
#include "server/core/policies/watchdog.hpp"
#include "server/core/records/closure_table.hpp"
#include "server/core/scheduling/scheduler.hpp"
#include "server/core/workers/worker_roster.hpp"

namespace muster::core {

class hand_out {
 public:
  hand_out(step_frame& step, closure_table& closures, closure_book& book,
           core::scheduler& scheduler, worker_roster& roster, component_builds& builds,
           core::watchdog& watchdog, closure_life& life, build_orders& building)
      : step_(step),
        closures_(closures),
        book_(book),
        scheduler_(scheduler),
        roster_(roster),
        builds_(builds),
        watchdog_(watchdog),
        life_(life),
        building_(building) {}

  void dispatch();
  /// Workers with an idle slot have waited for long enough: what was sent ahead to others and they
  /// can run is asked back.
  void recall();
  std::vector<stalled_closure> oldest_running() const;
  void report_stall();
  /// Closures that run alone have waited for long enough: a worker is kept empty for one of them.
  void keep_a_worker_empty();

 private:
  void start_gangs();
  /// True: it has started.
  bool start_gang(std::uint64_t id);
  void keep_free_for(gang const& g);
  void start_lone_ones();
  void start_member(seat& w, slot c);

  step_frame& step_;
  closure_table& closures_;
  closure_book& book_;
  core::scheduler& scheduler_;
  worker_roster& roster_;
  component_builds& builds_;
  core::watchdog& watchdog_;
  closure_life& life_;
  build_orders& building_;
  std::vector<slot> run_;  // scratch

  static constexpr duration idle_for = std::chrono::milliseconds(50);  // before a recall
};

}  // namespace muster::core
