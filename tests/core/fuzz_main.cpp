// event_fuzz: plays seeds beyond those of the fuzz test; see seed_loop.hpp.
#include "tests/core/fuzz_player.hpp"
#include "tests/support/simulation/report.hpp"
#include "tests/support/simulation/seed_loop.hpp"

namespace {

// Plays a seed; failed expectations print themselves.
muster::simulation::report play(std::uint64_t seed) {
  auto const bytes = muster::core::fuzz_bytes(seed);
  muster::core::fuzz_player p(bytes);
  p.play();
  muster::simulation::report r;
  r.steps = p.steps;
  r.counts["succeeded"] = p.reached.closures.succeeded;
  r.counts["failed"] = p.reached.closures.failed;
  r.counts["cancelled"] = p.reached.closures.cancelled;
  r.counts["put_back"] = p.reached.requeued;
  if (testing::Test::HasFailure()) r.violation = "what was expected above did not hold";
  return r;
}

}  // namespace

int main(int argc, char** argv) {
  return muster::simulation::run_seeds(argc, argv, play);
}
