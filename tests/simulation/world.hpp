// Virtual time for one coordinator.
//
// After every step the coordinator's invariants and the witness's rules are checked. The effects
// are hashed, so that two runs can be compared, and passed to the simulated clients and workers.
// The hash contains codes and numbers but no text. The world arms the coordinator's timer like the
// hub.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/core/coordinator.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/function_queries.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/core/queries/value_queries.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "server/history/history.hpp"
#include "tests/core/changes_model.hpp"
#include "tests/core/witness.hpp"
#include "tests/support/simulation/virtual_time.hpp"

namespace muster::simulation {

/// All events of a core and their effects.
struct recording {
  struct step {
    core::time_point at{};
    core::event event;
    core::effects effects{};
    core::time_point next_deadline{};
  };
  core::config config;
  core::time_point start{};
  std::vector<step> steps;
};

class world : public virtual_time {
 public:
  /// `into`, if set, receives every step.
  world(std::uint64_t seed, core::config config, recording* into = nullptr);

  core::coordinator const& server() const { return *server_; }

  /// Runs until no event is left or `end` is reached.
  void run(core::time_point end);

  /// Returns the number of a function name. Call it first: the step is not part of the trace.
  core::function_id learn(std::string name);
  /// Runs one step of the coordinator at the current time.
  void apply(core::event e);
  /// Runs a step with a call; `done` receives its reply.
  template <class Event>
  core::call_id ask(Event e, std::function<void(core::reply const&)> done) {
    e.call = core::call_id{++last_call_};
    calls_.emplace(e.call, std::move(done));
    auto const id = e.call;
    apply(std::move(e));
    return id;
  }
  void forget(core::call_id call);
  std::size_t open_calls() const { return calls_.size(); }
  /// Number of closures that ran again because their values were lost.
  std::size_t made_again() const { return again_.size(); }
  /// Describes the recomputing closures that have not ended, with reasons.
  std::string left_again() const;
  /// Returns true if a recomputing closure that has not ended needs the value.
  bool needed_again(core::per_worker_id v) const;

  /// Number of steps between checks of the core's invariants. The checks take most of a run, and a
  /// broken invariant usually stays broken. Runs of many seeds can therefore check less often.
  std::uint64_t check_every = 1;
  /// Throws a violation.
  void check_invariants() const;

  /// Performs the effects on the simulated side; must be set before the first step.
  std::function<void(core::effects const&)> perform;

  /// Returns the number of values that were released to stay within a limit.
  std::uint64_t dropped() const;

 private:
  core::effects step(core::event e);
  /// Passes the changes of a step to their listeners.
  void listen(core::effects const& fx);
  void fold(std::uint64_t value);
  void fold(core::effects const& fx);
  void check_exclusive_ones(core::effects const& fx);
  void learn_what_runs_again(core::effects const& fx);
  void arm();

  core::witness witness_;
  core::changes_model told_;
  recording* const recording_;
  core::server_wide wide_{now_};
  std::unique_ptr<core::coordinator> server_;
  std::unique_ptr<history::history> past_;
  std::map<core::call_id, std::function<void(core::reply const&)>> calls_;
  std::uint64_t last_call_ = 0;
  core::time_point armed_ = core::never;
  std::vector<core::closure_id> again_;
};

}  // namespace muster::simulation
