// 200 fixed seeds, every seed that ever failed, and a check that a seed determines the run.
#include "tests/simulation/simulation.hpp"

#include <gtest/gtest.h>

#include "tests/support/sanitized.hpp"
#include "tests/support/simulation/seeds.hpp"

namespace muster::simulation {
namespace {

auto const play = [](std::uint64_t seed) { return simulate(seed); };

TEST(simulation, every_invariant_holds_and_everything_finishes_for_200_seeds) {
  tally total;
  for (std::uint64_t seed = 1; seed <= seeds_to_play(200); ++seed) {
    auto const r = simulate(seed, nullptr, {}, seed % 4 == 0 ? 1 : 8);
    total += r.counts;
    if (!r.violation.empty()) expect_clean(seed, simulate(seed), "simulate");
  }
  if (sanitized) return;
  expect_reached(total, {
                            {"succeeded", 100'000},  {"put_back", 1'000},  {"went_on", 500},
                            {"aborted", 50},         {"failed", 500},      {"cancelled", 500},
                            {"raised", 500},         {"resumed", 500},     {"lost", 20},
                            {"released", 5'000},     {"written", 10'000},  {"read", 1'000},
                            {"disk_faults", 500},    {"dropped", 5'000},   {"made_again", 50},
                            {"alone", 200},          {"waited", 2'000},    {"retries", 100},
                            {"refused_retries", 10}, {"lost_values", 500}, {"copied", 500},
                            {"lacked", 500},
                        });
}

TEST(simulation, seeds_that_once_failed_stay_clean) {
  expect_old_failures_clean("simulation/regressions.txt", play, "simulate");
}

TEST(simulation, the_same_seed_gives_the_same_trace) {
  expect_same_traces(play);
}

}  // namespace
}  // namespace muster::simulation
