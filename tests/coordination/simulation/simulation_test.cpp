// Fixed seeds, every seed that ever failed, and a check that a seed determines the run.
#include "tests/coordination/simulation/simulation.hpp"

#include <gtest/gtest.h>

#include "tests/support/sanitized.hpp"
#include "tests/support/simulation/seeds.hpp"

namespace muster::coordination_simulation {
namespace {

auto const play = [](std::uint64_t seed) { return simulate(seed); };

TEST(coordination_simulation, every_invariant_holds_and_everything_ends_for_200_seeds) {
  simulation::tally total;
  for (std::uint64_t seed = 1; seed <= seeds_to_play(200); ++seed) {
    auto const r = simulate(seed);
    simulation::expect_clean(seed, r, "coordination_simulate");
    total += r.counts;
  }
  if (sanitized) return;
  simulation::expect_reached(total, {{"registered", 1'500},
                                     {"passed", 1'000},
                                     {"failed", 2'000},
                                     {"deaths", 1'500},
                                     {"told", 300},
                                     {"generations", 500}});
}

TEST(coordination_simulation, server_kills_lose_no_acknowledged_change_for_1000_seeds) {
  simulation::tally total;
  for (std::uint64_t seed = 1; seed <= seeds_to_play(1'000); ++seed) {
    auto const r = simulate(seed, nullptr, true);
    simulation::expect_clean(seed, r, "coordination_simulate --kills");
    total += r.counts;
  }
  if (sanitized) return;
  simulation::expect_reached(total, {{"kills", 2'000}, {"registered", 5'000}, {"passed", 5'000}});
}

TEST(coordination_simulation, seeds_that_once_failed_stay_clean) {
  simulation::expect_old_failures_clean("coordination/simulation/regressions.txt", play,
                                        "coordination_simulate");
}

TEST(coordination_simulation, the_same_seed_gives_the_same_trace) {
  simulation::expect_same_traces(play);
}

}  // namespace
}  // namespace muster::coordination_simulation
