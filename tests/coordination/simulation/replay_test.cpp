// Replaying a recorded run on a new core gives the same effects, ids and views. The state can be
// saved and loaded at any step.
#include <gtest/gtest.h>

#include "tests/coordination/simulation/simulation.hpp"
#include "tests/coordination/simulation/world.hpp"
#include "tests/support/archive.hpp"

namespace muster::coordination_simulation {
namespace {

constexpr std::size_t all = 1'000'000;

std::string views_of(cc::clusters const& server, core::time_point now) {
  archive::writer w;
  for (auto const id : server.ids()) {
    auto const& service = server.current(id);
    w(id, server.spec(id), server.view(id, now), service.views().tasks(now, 0, all),
      service.views().barriers_from(0, all), service.views().keys("", "", all),
      service.views().key_waits("", all));
    for (auto const& b : service.views().barriers_from(0, all)) w(service.views().barrier(b.id));
  }
  return w.take();
}

/// Repeats the recorded steps.
void replay(cc::clusters& server, recording const& r, std::size_t first, std::size_t end) {
  for (auto i = first; i < end; ++i) {
    auto event = r.steps[i].what;
    ASSERT_EQ(archive::saved(server.step(r.steps[i].at, event)), r.steps[i].effects)
        << "step " << i;
  }
}

TEST(coordination_replay, the_same_events_give_the_same_effects_and_views) {
  std::size_t steps = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    recording r;
    simulate(seed, &r);
    steps += r.steps.size();
    cc::clusters one({}, seed), other({}, seed);
    constexpr std::size_t stride = 25;
    for (std::size_t i = 0; i < r.steps.size(); i += stride) {
      auto const end = std::min(i + stride, r.steps.size());
      replay(one, r, i, end);
      replay(other, r, i, end);
      if (HasFatalFailure()) return;
      auto const now = r.steps[end - 1].at;
      ASSERT_EQ(views_of(one, now), views_of(other, now)) << "after step " << end;
    }
  }
  EXPECT_GT(steps, 5'000u);
}

}  // namespace
}  // namespace muster::coordination_simulation
