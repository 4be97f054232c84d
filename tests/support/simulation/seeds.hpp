// Checks for every simulator.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>

#include "tests/support/simulation/report.hpp"

namespace muster::simulation {

/// Expects no violation. `replay` is the command line without the seed.
inline void expect_clean(std::uint64_t seed, report const& r, std::string const& replay) {
  EXPECT_TRUE(r.violation.empty())
      << "seed=" << seed << "\n"
      << r.violation << "\nbefore it:\n"
      << r.recent << "replay: " << replay << " --seed " << seed << "; add it to regressions.txt";
}

/// Seeds that miss the rare events prove nothing.
inline void expect_reached(
    tally const& all, std::initializer_list<std::pair<std::string_view, std::uint64_t>> more_than) {
  for (auto const& [what, n] : more_than) EXPECT_GT(all.of(what), n) << what;
}

/// Replays the seeds in `file`, relative to tests/.
template <class Simulate>
void expect_old_failures_clean(std::string const& file, Simulate simulate,
                               std::string const& replay) {
  std::ifstream lines(MUSTER_SOURCE_DIR "/tests/" + file);
  ASSERT_TRUE(lines.is_open());
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line[0] != '#')
      expect_clean(std::stoull(line), simulate(std::stoull(line)), replay);
}

/// Checks that a seed determines the run.
template <class Simulate>
void expect_same_traces(Simulate simulate) {
  for (std::uint64_t const seed : {3u, 77u, 12345u}) {
    auto const a = simulate(seed);
    auto const b = simulate(seed);
    EXPECT_EQ(a.trace_hash, b.trace_hash) << "seed=" << seed;
    EXPECT_EQ(a.steps, b.steps);
  }
  EXPECT_NE(simulate(1).trace_hash, simulate(2).trace_hash);
}

}  // namespace muster::simulation
