// PerWorkerValues: who has to build what, and when it is sent. A build is a closure of the core's
// own: sent before anything else, past the window (never past the credits), not put back when its
// worker is lost; its outcome is a component's state.
//
// Owned by the coordinator, used within a step; engine thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/core/closures/closure_book.hpp"
#include "server/core/moves/closure_life.hpp"
#include "server/core/moves/release_texts.hpp"
#include "server/core/moves/session_flow.hpp"
#include "server/core/moves/step_frame.hpp"
#include "server/core/per_worker/component_builds.hpp"
#include "server/core/policies/stateful_tasks.hpp"
#include "server/core/records/closure_table.hpp"
#include "server/core/scheduling/scheduler.hpp"
#include "server/core/sessions/session_table.hpp"
#include "server/core/workers/worker_roster.hpp"

namespace muster::core {

class build_orders {
 public:
  build_orders(step_frame& step, closure_table& closures, closure_book& book,
               core::scheduler& scheduler, worker_roster& roster, component_builds& builds,
               session_table& sessions, session& builders, stateful_tasks& stateful,
               release_texts& texts, session_flow& flow, closure_life& life)
      : step_(step),
        closures_(closures),
        book_(book),
        scheduler_(scheduler),
        roster_(roster),
        builds_(builds),
        sessions_(sessions),
        builders_(builders),
        stateful_(stateful),
        texts_(texts),
        flow_(flow),
        life_(life) {}

  void forget_components();
  void create_value(create_per_worker& e);
  void delete_value(delete_per_worker const& e);
  /// Those of the session but for these tokens.
  void release_per_worker(session const& s, std::vector<std::uint64_t> const& but = {});
  void expect_components(worker& w);
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
  void expect_component(worker& w, per_worker_entry& v);
  void expect_named();
  void send_build(worker& w, per_worker_entry& v);

  step_frame& step_;
  closure_table& closures_;
  closure_book& book_;
  core::scheduler& scheduler_;
  worker_roster& roster_;
  component_builds& builds_;
  session_table& sessions_;
  session& builders_;
  stateful_tasks& stateful_;
  release_texts& texts_;
  session_flow& flow_;
  closure_life& life_;
};

}  // namespace muster::core
