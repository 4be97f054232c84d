// Replaying the events of a run on a new core gives the same effects and views.
#include <gtest/gtest.h>

#include <utility>

#include "server/core/coordinator_state.hpp"
#include "tests/simulation/simulation.hpp"
#include "tests/support/archive.hpp"

namespace muster::simulation {
namespace {

/// Views have no `operator==`.
std::string everything(core::coordinator const& c, core::time_point now) {
  archive::writer all;
  auto const jobs = c.sessions().list({}, ~std::size_t{});
  all(jobs.items, c.functions().all(), c.overview(now), c.workers().connected());
  all(c.workers().list(0, ~std::size_t{}, {}).items, c.per_worker().list({}, ~std::size_t{}).items);
  for (auto const& f : c.functions().all()) all(f.name);
  for (auto const& job : jobs.items) {
    all(c.has_room(job.id));
    for (std::uint64_t token = 0; token < 1'000; ++token) all(c.closure_of(job.id, token));
    auto const closures = c.closures().list(job.id, 0, ~std::size_t{});
    all(closures->items);
    for (auto const& v : closures->items) all(*c.closures().explain(v.id, now));
  }
  return all.take();
}

/// Compares inputs by value.
bool same(core::effects l, core::effects r) {
  if (l.assignments.size() != r.assignments.size()) return false;
  for (std::size_t i = 0; i < l.assignments.size(); ++i) {
    auto const a = std::exchange(l.assignments[i].inputs, nullptr);
    auto const b = std::exchange(r.assignments[i].inputs, nullptr);
    if (!a != !b || (a && *a != *b)) return false;
  }
  for (auto* fx : {&l, &r})
    for (auto& a : fx->assignments)
      if (a.extras)
        a.args = core::blob(std::string(a.args.view()) +
                            archive::saved(*std::exchange(a.extras, nullptr)));
  return l == r;
}

class replay : public testing::TestWithParam<std::uint64_t> {};

TEST_P(replay, fresh_core_reproduces_effects_and_views) {
  recording run;
  std::string seen;
  core::time_point end{};
  auto const look = [&](core::coordinator const& c, core::time_point now) {
    seen = everything(c, now);
    end = now;
  };
  auto const r = simulate(GetParam(), &run, look);
  ASSERT_EQ(r.violation, "");
  ASSERT_GT(run.steps.size(), 1'000u);

  core::coordinator again(run.config, run.start);
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    auto& s = run.steps[i];
    ASSERT_TRUE(same(again.step(s.at, s.event), s.effects)) << "step " << i;
    ASSERT_EQ(again.next_deadline(), s.next_deadline) << "step " << i;
  }
  EXPECT_EQ(everything(again, end), seen);
}

// Each of the simulator's three settings twice.
INSTANTIATE_TEST_SUITE_P(seeds, replay, testing::Values(1, 2, 3, 4, 7, 6, 77));

}  // namespace
}  // namespace muster::simulation
