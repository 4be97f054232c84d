// Virtual time around one coordinator.
//
// After every step the coordinator's invariants and the witness's rules are checked, its effects
// are folded into a hash (so that two runs can be compared) and handed to whoever simulates the
// other side. The hash is made of codes and numbers: sentences may change, decisions may not. The
// world arms the coordinator's one timer as the real hub does.
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

/// Everything that went into a core, and what came out.
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
  /// `into`, where there is one, gets every step.
  world(std::uint64_t seed, core::config config, recording* into = nullptr);

  core::coordinator const& server() const { return *server_; }

  /// Runs until nothing is left to happen or `end` is reached.
  void run(core::time_point end);

  /// The number of a function's name. Before anything happens: no part of the trace.
  core::function_id learn(std::string name);
  /// One step of the coordinator, now.
  void apply(core::event e);
  /// A step that carries a call; `done` gets its one reply.
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
  /// Closures that ran again, since their values were lost.
  std::size_t made_again() const { return again_.size(); }
  /// Those that have not ended, and why.
  std::string left_again() const;
  /// Whether one of them has not ended and needs the value.
  bool needed_again(core::per_worker_id v) const;

  /// The core recounts its invariants after each such number of steps. Recounting takes most of a
  /// run, and what is broken mostly stays so: where many seeds are played, fewer looks find it too.
  std::uint64_t check_every = 1;
  /// Throws a violation.
  void check_invariants() const;

  /// The other side of the effects; set before the first step.
  std::function<void(core::effects const&)> perform;

  /// Values that were released to stay within a limit.
  std::uint64_t dropped() const;

 private:
  core::effects step(core::event e);
  /// What listens to the changes of a step.
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
