#include "tests/coordination/simulation/simulation.hpp"

#include <memory>

#include "tests/coordination/simulation/model_agent.hpp"

namespace muster::coordination_simulation {

using namespace std::chrono_literals;

namespace {

cc::cluster_spec some_spec(simulation::random& dice) {
  cc::cluster_spec spec;
  auto const tasks = static_cast<std::uint32_t>(dice.between(1, 6));
  spec.jobs = {{"worker", tasks, false}};
  if (dice.chance(30)) spec.jobs.push_back({"spot", 2, dice.chance(50)});
  spec.heartbeat_timeout = 10s;
  spec.register_timeout = core::duration(dice.between(5, 60)) * 1'000'000;
  spec.shutdown_timeout = core::duration(dice.chance(20) ? 0 : dice.between(5, 60)) * 1'000'000;
  spec.register_barrier = dice.chance(80);
  spec.recoverable = dice.chance(20);
  spec.allow_reconnect = dice.chance(20);
  spec.renew = dice.chance(80);
  spec.stuck_after = 5s;
  return spec;
}

// Selects how errors are delivered: by heartbeat in half of the clusters with server kills.
cc::cluster_spec as_told(cc::cluster_spec spec, bool by_heartbeat) {
  if (by_heartbeat) spec.errors = cc::error_delivery::heartbeat;
  return spec;
}

struct cluster {
  cluster(std::uint64_t seed, cc::cluster_spec spec, recording* to, bool with_kills)
      : earth(seed, as_told(std::move(spec), with_kills && seed % 2 == 1), to, with_kills),
        mortal(with_kills) {
    auto const polls = earth.dice().between(0, 2);  // 0: no agent polls, 1: some, 2: all
    auto const x = earth.dice().chance(50);
    crashes = earth.dice().between(0, 12);
    for (cc::task_index t = 0; t < earth.spec().size(); ++t)
      agents.push_back(std::make_unique<model_agent>(
          earth, t, polls == 2 || (polls == 1 && earth.dice().chance(50)), x));
  }

  void strike() {
    for (auto& a : agents)
      if (a->alive() && earth.dice().between(1, 1'000) <= crashes) {
        a->die("crash");
        auto const back = core::duration(earth.dice().between(1, 15'000'000));
        earth.after(back, [this, agent = a.get()] {
          if (!agent->alive() && faulty) agent->start();
        });
      }
    if (mortal && faulty && earth.dice().chance(5)) {
      earth.kill_server();
    }
    if (faulty) earth.after(1s, [this] { strike(); });
  }

  world earth;
  std::vector<std::unique_ptr<model_agent>> agents;
  std::int64_t crashes = 0;  // per agent and 1,000 seconds
  bool faulty = true;
  bool const mortal;  // whether the server is killed now and then
};

void rest(cluster& c) {
  c.faulty = false;
  c.earth.heal();
  for (auto& a : c.agents) a->rest();
  c.earth.run(c.earth.now() + 2min);
  auto const v = c.earth.service().view(c.earth.now());
  if (v.parked_key_waits != c.earth.endless_waits())
    throw violation("a wait with a deadline is still parked");
  if (v.parked_calls > v.parked_polls + v.parked_key_waits + v.parked_watches)
    throw violation(std::to_string(v.parked_calls) + " calls are parked after all deadlines");
}

void last_act(cluster& c) {
  for (auto& a : c.agents) a->perform_last_act();
  for (int second = 0; second < 3'600; ++second) {
    c.earth.run(c.earth.now() + 1s);
    bool all = true;
    for (auto& a : c.agents) all = all && a->left();
    if (all) return;
  }
  throw violation("an hour after the last fault somebody has not got through a run");
}

}  // namespace

report simulate(std::uint64_t seed, recording* to, bool kills) {
  simulation::random dice(seed * 7919);
  cluster c(seed, some_spec(dice), to, kills);
  report r;
  try {
    for (auto& a : c.agents)
      c.earth.after(core::duration(dice.between(0, 4'000'000)), [agent = a.get()] {
        if (!agent->alive()) agent->start();
      });
    c.earth.after(5s, [&c] { c.strike(); });
    c.earth.run(c.earth.now() + 80s);
    rest(c);
    if (c.earth.spec().renew) last_act(c);
  } catch (violation const& v) {
    r.violation = v.what();
    r.recent = c.earth.recent();
  }
  r.trace_hash = c.earth.trace_hash();
  r.steps = c.earth.steps();
  r.counts = c.earth.counts;
  r.counts["generations"] = c.earth.service().view(c.earth.now()).number;
  return r;
}

}  // namespace muster::coordination_simulation
