// Virtual time for one coordinator. Every step checks the coordinator's invariants and the
// witness's rules. Effects are hashed to compare runs; the hash contains codes and numbers, no
// text.
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
  /// @param into receives every step; can be null.
  world(std::uint64_t seed, core::config config, recording* into = nullptr);

  core::coordinator const& server() const { return *server_; }

  /// Runs until `end`, or until no event is left.
  void run(core::time_point end);

  /// Returns the number of a function name. Call it first: the step is not part of the trace.
  core::function_id learn(std::string name);
  void apply(core::event e);
  /// Runs a step with a call; `done` receives the reply.
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
  /// Returns how many closures ran again because their values were lost.
  std::size_t made_again() const { return again_.size(); }
  /// Describes the unfinished recomputations, with reasons.
  std::string left_again() const;
  /// Returns true if an unfinished recomputation needs the value.
  bool needed_again(core::per_worker_id v) const;

  /// Number of steps between checks of the core's invariants, which take most of a run.
  std::uint64_t check_every = 1;
  void check_invariants() const;

  /// Performs the effects; must be set before the first step.
  std::function<void(core::effects const&)> perform;

  /// Returns the number of values released to stay within a limit.
  std::uint64_t dropped() const;

 private:
  core::effects step(core::event e);
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
