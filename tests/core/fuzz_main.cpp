// event_fuzz: see seed_loop.hpp. Plays seeds of the fuzz test, beyond those that the test plays.
#include "tests/core/fuzz_player.hpp"
#include "tests/simulation/seed_loop.hpp"

namespace {

struct report {
  std::uint64_t steps = 0;
  std::uint64_t trace_hash = 0;
  muster::core::overview_view reached;
  std::string violation;
  std::string recent;
};

// Expectations that fail print themselves.
report play(std::uint64_t seed) {
  auto const bytes = muster::core::fuzz_bytes(seed);
  muster::core::fuzz_player p(bytes);
  p.play();
  report r{p.steps, 0, p.reached, {}, {}};
  if (testing::Test::HasFailure()) r.violation = "what was expected above did not hold";
  return r;
}

}  // namespace

int main(int argc, char** argv) {
  return muster::simulation::run_seeds(argc, argv, play, [](report const& r) {
    auto const& n = r.reached.closures;
    std::printf("succeeded=%llu failed=%llu cancelled=%llu put_back=%llu",
                (unsigned long long)n.succeeded, (unsigned long long)n.failed,
                (unsigned long long)n.cancelled, (unsigned long long)r.reached.put_back);
  });
}
