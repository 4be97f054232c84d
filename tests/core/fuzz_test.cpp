// The same bytes give the same events, so a failing seed can be replayed.
#include "tests/core/fuzz_player.hpp"

namespace muster::core {
namespace {

std::pair<overview_view, std::uint64_t> play(std::uint64_t seed) {
  SCOPED_TRACE("replay: event_fuzz --seed " + std::to_string(seed) + "; add it to once_failed");
  auto const bytes = fuzz_bytes(seed);
  fuzz_player p(bytes);
  p.play();
  return {p.reached, p.steps};
}

constexpr std::uint64_t once_failed[] = {
    14, 42, 77,  // a stream was held back forever while jobs kept the server (nearly) full
    1659,        // the witness took two tasks with one incarnation for one process
};

TEST(fuzz, no_sequence_of_events_breaks_an_invariant) {
  closure_counts total;
  std::uint64_t requeued = 0, aborted = 0, steps = 0;
  for (std::uint64_t seed = 1; seed <= 20 && !testing::Test::HasFailure(); ++seed) {
    auto const [reached, taken] = play(seed);
    total.succeeded += reached.closures.succeeded;
    total.failed += reached.closures.failed;
    total.cancelled += reached.closures.cancelled;
    requeued += reached.requeued;
    aborted += reached.values_aborted;
    steps += taken;
  }
  // The bytes must reach the rare states, or the test proves nothing.
  EXPECT_GT(total.succeeded, 1000u);
  EXPECT_GT(total.failed, 300u);
  EXPECT_GT(total.cancelled, 2000u);
  EXPECT_GT(requeued, 500u);
  EXPECT_GT(aborted, 50u);
  EXPECT_GT(steps, 15'000u);
}

TEST(fuzz, seeds_that_once_failed_stay_clean) {
  for (auto const seed : once_failed) play(seed);
}

TEST(fuzz, constant_input_bytes_break_no_invariant) {
  for (int value = 0; value < 256 && !testing::Test::HasFailure(); value += 5) {
    SCOPED_TRACE("byte " + std::to_string(value));
    std::vector<std::uint8_t> const bytes(60, static_cast<std::uint8_t>(value));
    fuzz_player(bytes).play();
  }
}

}  // namespace
}  // namespace muster::core
