// Fixed seeds, every seed that ever failed, and proof that a seed tells the whole story.
#include "tests/coordination/simulation/simulation.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/sanitized.hpp"

namespace muster::coordination_simulation {
namespace {

void expect_clean(std::uint64_t seed, report const& r) {
  EXPECT_TRUE(r.violation.empty()) << "seed=" << seed << "\n"
                                   << r.violation << "\nbefore it:\n"
                                   << r.recent << "replay: coordination_simulate --seed " << seed
                                   << "; add it to tests/coordination/simulation/regressions.txt";
}

TEST(coordination_simulation, every_invariant_holds_and_everything_ends_for_200_seeds) {
  report total;
  for (std::uint64_t seed = 1; seed <= seeds_to_play(200); ++seed) {
    auto const r = simulate(seed);
    expect_clean(seed, r);
    total.registered += r.registered;
    total.passed += r.passed;
    total.failed += r.failed;
    total.deaths += r.deaths;
    total.told += r.told;
    total.generations += r.generations;
  }
  if (sanitized) return;
  // The seeds must reach the interesting places, or they prove nothing.
  EXPECT_GT(total.registered, 1'500u);
  EXPECT_GT(total.passed, 1'000u);
  EXPECT_GT(total.failed, 2'000u);
  EXPECT_GT(total.deaths, 1'500u);
  EXPECT_GT(total.told, 300u);
  EXPECT_GT(total.generations, 500u);
}

// What the disk had is there after a kill at any moment, and what was told is never told otherwise.
TEST(coordination_simulation, kills_of_the_server_lose_nothing_that_was_told_for_1000_seeds) {
  report total;
  for (std::uint64_t seed = 1; seed <= seeds_to_play(1'000); ++seed) {
    auto const r = simulate(seed, nullptr, true);
    EXPECT_TRUE(r.violation.empty())
        << "seed=" << seed << "\n"
        << r.violation << "\nbefore it:\n"
        << r.recent << "replay: coordination_simulate --kills --seed " << seed;
    total.kills += r.kills;
    total.registered += r.registered;
    total.passed += r.passed;
  }
  if (sanitized) return;
  EXPECT_GT(total.kills, 2'000u);
  EXPECT_GT(total.registered, 5'000u);
  EXPECT_GT(total.passed, 5'000u);
}

TEST(coordination_simulation, seeds_that_once_failed_stay_clean) {
  std::ifstream file(MUSTER_SOURCE_DIR "/tests/coordination/simulation/regressions.txt");
  ASSERT_TRUE(file.is_open());
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#')
      expect_clean(std::stoull(line), simulate(std::stoull(line)));
}

TEST(coordination_simulation, the_same_seed_gives_the_same_trace) {
  for (std::uint64_t const seed : {3u, 77u, 12345u}) {
    auto const a = simulate(seed);
    auto const b = simulate(seed);
    EXPECT_EQ(a.trace_hash, b.trace_hash) << "seed=" << seed;
    EXPECT_EQ(a.steps, b.steps);
  }
  EXPECT_NE(simulate(1).trace_hash, simulate(2).trace_hash);
}

}  // namespace
}  // namespace muster::coordination_simulation
