// No sequence of events, however mad, breaks an invariant or loses a closure. The same bytes give
// the same events, so a seed that fails can be replayed.
#include "tests/core/fuzz_player.hpp"
#include "tests/simulation/random.hpp"

namespace muster::core {
namespace {

TEST(fuzz, no_sequence_of_events_breaks_an_invariant) {
  closure_counts total;
  std::uint64_t put_back = 0, aborted = 0, steps = 0;
  for (std::uint64_t seed = 1; seed <= 20 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    simulation::random dice(seed);
    std::vector<std::uint8_t> bytes(25'000);
    for (auto& b : bytes) b = static_cast<std::uint8_t>(dice.next());
    fuzz_player p(bytes);
    p.play();
    total.succeeded += p.reached.closures.succeeded;
    total.failed += p.reached.closures.failed;
    total.cancelled += p.reached.closures.cancelled;
    put_back += p.reached.put_back;
    aborted += p.reached.values_aborted;
    steps += p.steps;
  }
  // The bytes must reach the interesting places, or they prove nothing.
  EXPECT_GT(total.succeeded, 1000u);
  EXPECT_GT(total.failed, 300u);
  EXPECT_GT(total.cancelled, 2000u);
  EXPECT_GT(put_back, 500u);
  EXPECT_GT(aborted, 50u);
  EXPECT_GT(steps, 15'000u);
}

TEST(fuzz, constant_bytes_are_events_too) {
  for (int value = 0; value < 256 && !testing::Test::HasFailure(); value += 5) {
    SCOPED_TRACE("byte " + std::to_string(value));
    std::vector<std::uint8_t> const bytes(60, static_cast<std::uint8_t>(value));
    fuzz_player(bytes).play();
  }
}

}  // namespace
}  // namespace muster::core
