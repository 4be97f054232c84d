// Programs with lost workers, failing ranks and messages in transit.
//
// Invariants:
// - No rank of an attempt is alive when a rank of another attempt of its program starts.
// - No port is used twice.
// - No worker exceeds its resources.
// - Uploads are sent only to workers that unpack them.
// - Every program ends, even if its upload was missing for a while.
#include <deque>
#include <random>
#include <set>

#include "tests/core/programs/model_worker.hpp"

namespace muster::core::programs {
namespace {

void run(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  bench b;
  std::deque<model_worker> workers;
  for (std::int64_t i = 0; i < 4; ++i)
    workers.emplace_back(b, seed * 16 + static_cast<std::uint64_t>(i) + 1, i);
  std::set<program_id> programs;
  for (int turn = 0; turn < 4'000; ++turn) {
    bool const quiet = turn > 1'500;
    b.advance(std::chrono::milliseconds(100));
    auto& w = workers[random() % workers.size()];
    if (!w.attached() && (quiet || random() % 20 == 0)) w.attach();
    if (!quiet && w.attached() && random() % 60 == 0) w.cut();
    if (!quiet && random() % 400 == 0) w.die();
    if (!quiet && programs.size() < 12 && random() % 20 == 0) {
      auto spec = random_program(random);
      if (random() % 3 == 0) spec.upload = std::string(64, 'a');
      programs.insert(b.submit(spec));
    }
    if (quiet || random() % 100 == 0) {
      std::vector<std::string> there;
      if (quiet || random() % 2 == 0) there.emplace_back(64, 'a');
      b.step([&] { b.core->uploads_present(there); });
    }
    if (!quiet && !programs.empty() && random() % 200 == 0) {
      auto const unmet_demand = {program_command::cancel, program_command::stop,
                                 program_command::restart};
      b.wish(*std::next(programs.begin(), static_cast<long>(random() % programs.size())),
             *(unmet_demand.begin() + random() % 3));
    }
    for (auto& one : workers) one.live();
    expect_in_order(workers);
    if (testing::Test::HasFailure()) return;
  }
  expect_all_over(b, programs);
}

TEST(programs_simulation, faults_break_no_rule_and_all_end) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    run(seed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace muster::core::programs
