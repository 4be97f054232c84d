// See restart_world.hpp and session_world.hpp.
#include <gtest/gtest.h>

#include "tests/journal/restart_world.hpp"
#include "tests/journal/session_world.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/simulation/seeds.hpp"

namespace muster::server::journal {
namespace {

constexpr std::uint64_t seeds = sanitized ? 20 : 250;  // one takes 0.2 s under sanitizers

template <class World>
simulation::tally play(int part) {
  simulation::tally all;
  for (std::uint64_t i = 0; i < seeds && !testing::Test::HasFailure(); ++i) {
    auto const seed = static_cast<std::uint64_t>(part) * seeds + i;
    auto const r = World(seed).run();
    EXPECT_EQ(r.violation, "") << "seed " << seed;
    all += r.counts;
  }
  return all;
}

class restart_simulation : public testing::TestWithParam<int> {};

TEST_P(restart_simulation, acknowledged_jobs_survive_and_reported_states_never_change) {
  auto const all = play<restart_world>(GetParam());
  expect_reached(all, {{"crashes", 4 * seeds},
                       {"accepted", 80 * seeds},
                       {"told", 80 * seeds},
                       {"lost_batches", 8 * seeds},
                       {"restored", 40 * seeds},
                       {"succeeded", 20 * seeds},
                       {"failed", 2 * seeds},
                       {"cancelled", 2 * seeds},
                       {"taken_up", seeds / 2},
                       {"answered_again", seeds / 5}});
  // Too few seeds with sanitizers: one of 25 has a retry.
  if (seeds >= 25) expect_reached(all, {{"retried", seeds / 25}});
}

TEST_P(restart_simulation, client_sessions_continue_and_leave_nothing_behind) {
  auto const all = play<session_world>(GetParam());
  if (!sanitized) expect_reached(all, {{"raised", seeds / 100}});  // rare
  // Resuming clients wait for the disk and schedule less.
  auto const scheduled = (sanitized ? 25 : 30) * seeds;
  expect_reached(all, {{"crashes", 4 * seeds},
                       {"opened", 4 * seeds},
                       {"scheduled", scheduled},
                       {"told", 30 * seeds},
                       {"repeated", 2 * seeds},
                       {"resumed", 4 * seeds},
                       {"released", 4 * seeds},
                       {"closed", 4 * seeds},
                       {"lost_batches", 8 * seeds},
                       {"restored", 10 * seeds},
                       {"taken_up", seeds / 2},
                       {"answered_again", seeds / 5},
                       {"per_worker", seeds / 2}});
}

INSTANTIATE_TEST_SUITE_P(seeds, restart_simulation, testing::Range(0, 8));

}  // namespace
}  // namespace muster::server::journal
