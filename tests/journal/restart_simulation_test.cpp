// 2,000 seeds of servers that are killed; see restart_world.hpp.
#include <gtest/gtest.h>

#include "tests/journal/restart_world.hpp"

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
    all.taken_up += r.taken_up;
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
  EXPECT_GT(all.retried, seeds / 25);
}

INSTANTIATE_TEST_SUITE_P(seeds, restart_simulation, testing::Range(0, 8));

}  // namespace
}  // namespace muster::server::journal
