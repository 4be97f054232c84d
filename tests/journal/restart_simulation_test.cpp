// 2,000 seeds each of servers that are killed; see restart_world.hpp and session_world.hpp.
#include <gtest/gtest.h>

#include "tests/journal/restart_world.hpp"
#include "tests/journal/session_world.hpp"

namespace muster::server::journal {
namespace {

// A seed takes 0.2 s under sanitizers.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t seeds = 20;
#else
constexpr std::uint64_t seeds = 250;
#endif

class restart_simulation : public testing::TestWithParam<int> {};

TEST_P(restart_simulation, nothing_accepted_is_lost_and_nothing_told_is_untrue) {
  restart_report all;
  for (std::uint64_t i = 0; i < seeds; ++i) {
    auto const seed = static_cast<std::uint64_t>(GetParam()) * seeds + i;
    auto const r = restart_world(seed).run();
    ASSERT_EQ(r.violation, "") << "seed " << seed;
    all.crashes += r.crashes, all.accepted += r.accepted, all.told += r.told;
    all.lost_batches += r.lost_batches, all.restored += r.restored, all.retried += r.retried;
    all.succeeded += r.succeeded, all.failed += r.failed, all.cancelled += r.cancelled;
    all.taken_up += r.taken_up, all.answered_again += r.answered_again;
  }
  // The seeds must reach the interesting places, or they prove nothing.
  EXPECT_GT(all.crashes, 4u * seeds);
  EXPECT_GT(all.accepted, 80u * seeds);
  EXPECT_GT(all.told, 80u * seeds);
  EXPECT_GT(all.lost_batches, 8u * seeds);
  EXPECT_GT(all.restored, 40u * seeds);
  EXPECT_GT(all.succeeded, 20u * seeds);
  EXPECT_GT(all.failed, 2u * seeds);
  EXPECT_GT(all.cancelled, 2u * seeds);
  EXPECT_GT(all.taken_up, seeds / 2);
  EXPECT_GT(all.answered_again, seeds / 5);
  EXPECT_GT(all.retried, seeds / 25);
}

TEST_P(restart_simulation, sessions_of_client_programs_go_on_and_leave_nothing_behind) {
  session_report all;
  for (std::uint64_t i = 0; i < seeds; ++i) {
    auto const seed = static_cast<std::uint64_t>(GetParam()) * seeds + i;
    auto const r = session_world(seed).run();
    ASSERT_EQ(r.violation, "") << "seed " << seed;
    all.crashes += r.crashes, all.opened += r.opened, all.scheduled += r.scheduled;
    all.told += r.told, all.repeated += r.repeated, all.resumed += r.resumed;
    all.released += r.released, all.closed += r.closed, all.lost_batches += r.lost_batches;
    all.restored += r.restored, all.taken_up += r.taken_up, all.per_worker += r.per_worker;
    all.raised += r.raised, all.answered_again += r.answered_again;
  }
  EXPECT_TRUE(seeds < 100 || all.raised > seeds / 100) << all.raised;  // rare
  EXPECT_GT(all.crashes, 4u * seeds);
  EXPECT_GT(all.opened, 4u * seeds);
  EXPECT_GT(all.scheduled, 30u * seeds);
  EXPECT_GT(all.told, 30u * seeds);
  EXPECT_GT(all.repeated, 2u * seeds);
  EXPECT_GT(all.resumed, 4u * seeds);
  EXPECT_GT(all.released, 4u * seeds);
  EXPECT_GT(all.closed, 4u * seeds);
  EXPECT_GT(all.lost_batches, 8u * seeds);
  EXPECT_GT(all.restored, 10u * seeds);
  EXPECT_GT(all.taken_up, seeds / 2);
  EXPECT_GT(all.answered_again, seeds / 5);
  EXPECT_GT(all.per_worker, seeds / 2);
}

INSTANTIATE_TEST_SUITE_P(seeds, restart_simulation, testing::Range(0, 8));

}  // namespace
}  // namespace muster::server::journal
