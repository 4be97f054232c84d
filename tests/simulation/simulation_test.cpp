// 200 fixed seeds, every seed that ever failed, and proof that a seed tells the whole story.
#include "tests/simulation/simulation.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/sanitized.hpp"

namespace muster::simulation {
namespace {

void expect_clean(std::uint64_t seed) {
  auto const r = simulate(seed);
  EXPECT_TRUE(r.violation.empty()) << "seed=" << seed << "\n"
                                   << r.violation << "\nbefore it:\n"
                                   << r.recent << "replay: simulate --seed " << seed
                                   << "; add it to tests/simulation/regressions.txt";
}

TEST(simulation, every_invariant_holds_and_everything_finishes_for_200_seeds) {
  report total;
  for (std::uint64_t seed = 1; seed <= seeds_to_play(200); ++seed) {
    auto const r = simulate(seed, nullptr, {}, seed % 4 == 0 ? 1 : 8);
    total.put_back += r.put_back;
    total.went_on += r.went_on;
    total.aborted += r.aborted;
    total.succeeded += r.succeeded;
    total.failed += r.failed;
    total.cancelled += r.cancelled;
    total.raised += r.raised;
    total.resumed += r.resumed;
    total.lost += r.lost;
    total.released += r.released;
    total.written += r.written;
    total.read_back += r.read_back;
    total.disk_faults += r.disk_faults;
    total.dropped += r.dropped;
    total.made_again += r.made_again;
    total.alone += r.alone;
    total.waited += r.waited;
    total.retries += r.retries;
    total.refused_retries += r.refused_retries;
    if (!r.violation.empty()) expect_clean(seed);
  }
  if (sanitized) return;
  // The seeds must reach the interesting places, or they prove nothing.
  EXPECT_GT(total.succeeded, 100'000u);
  EXPECT_GT(total.put_back, 1'000u);
  EXPECT_GT(total.went_on, 500u);
  EXPECT_GT(total.aborted, 50u);
  EXPECT_GT(total.failed, 500u);
  EXPECT_GT(total.cancelled, 500u);
  EXPECT_GT(total.raised, 500u);
  EXPECT_GT(total.resumed, 500u);
  EXPECT_GT(total.lost, 20u);
  EXPECT_GT(total.released, 5'000u);
  EXPECT_GT(total.written, 10'000u);
  EXPECT_GT(total.read_back, 1'000u);
  EXPECT_GT(total.disk_faults, 500u);
  EXPECT_GT(total.dropped, 5'000u);
  EXPECT_GT(total.made_again, 50u);
  EXPECT_GT(total.alone, 200u);
  EXPECT_GT(total.waited, 2'000u);
  EXPECT_GT(total.retries, 100u);
  EXPECT_GT(total.refused_retries, 10u);
}

TEST(simulation, seeds_that_once_failed_stay_clean) {
  std::ifstream file(MUSTER_SOURCE_DIR "/tests/simulation/regressions.txt");
  ASSERT_TRUE(file.is_open());
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') expect_clean(std::stoull(line));
}

TEST(simulation, the_same_seed_gives_the_same_trace) {
  for (std::uint64_t const seed : {3u, 77u, 12345u}) {
    auto const a = simulate(seed);
    auto const b = simulate(seed);
    EXPECT_EQ(a.trace_hash, b.trace_hash) << "seed=" << seed;
    EXPECT_EQ(a.steps, b.steps);
  }
  EXPECT_NE(simulate(1).trace_hash, simulate(2).trace_hash);
}

}  // namespace
}  // namespace muster::simulation
