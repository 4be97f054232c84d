#include "server/core/api/waiting_views.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

closure_spec asking(cluster& c, std::string const& function, closure_options o) {
  auto spec = c.specs({function}).front();
  spec.extras = std::make_shared<closure_extras>(closure_extras{std::move(o), {}});
  return spec;
}
std::vector<closure_spec> gang(cluster& c, std::size_t size) {
  std::vector<closure_spec> all;
  for (std::size_t i = 0; i < size; ++i) all.push_back(asking(c, "f", {.gang = "g"}));
  return all;
}

TEST(waiting_gangs, are_shown_with_the_reason) {
  cluster c;
  c.attach({.slots = 2, .credits = 2});
  c.open({"f"});
  auto const fits = c.open_with(gang(c, 2));
  auto const large = c.open_with(gang(c, 3));
  auto const v = c.core.closures().gangs();
  ASSERT_EQ(v.items.size(), 2u);
  EXPECT_EQ(v.more, 0u);
  EXPECT_EQ(v.items[0].job, fits.id);
  EXPECT_EQ(v.items[0].waits, (gang_wait{"g", 2, 2, true}));
  EXPECT_EQ(v.items[0].first, fits[0]);
  EXPECT_EQ(v.items[0].function, "f");
  EXPECT_EQ(v.items[0].since, start);
  EXPECT_EQ(v.items[1].job, large.id);
  EXPECT_FALSE(v.items[1].waits.possible);
}

TEST(waiting_gangs, no_more_than_a_hundred_are_shown) {
  cluster c;
  for (int i = 0; i < 103; ++i) c.open_with(gang(c, 2));
  EXPECT_EQ(c.core.closures().gangs().items.size(), 100u);
  EXPECT_EQ(c.core.closures().gangs().more, 3u);
}

TEST(waiting_gangs, gangs_that_can_never_start_do_not_block_others) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  for (int i = 0; i < 40; ++i) c.open_with(gang(c, 3));
  auto const small = c.open_with(gang(c, 2));
  EXPECT_EQ(c.held(w), small.closures);
}

TEST(waiting_gangs, workers_are_kept_free_for_the_oldest_that_can_start) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  c.open_with(gang(c, 3));
  auto const first = c.open({"f", "f"});
  auto const job = c.open_with(gang(c, 2));
  c.open({"f", "f", "f"});
  c.advance(1s);
  c.succeed(w, first[0]);
  EXPECT_EQ(c.held(w), closures{first[1]}) << "the slot stays free";
  c.succeed(w, first[1]);
  EXPECT_EQ(c.held(w), job.closures);
}

TEST(waiting_gangs, gang_starts_when_the_missing_worker_attaches) {
  cluster c;
  auto const a = c.attach();
  auto const large = c.open_with(gang(c, 2));
  auto const b = c.attach();
  EXPECT_EQ(c.held(a).size() + c.held(b).size(), 2u);
  EXPECT_TRUE(c.core.closures().gangs().items.empty());
  EXPECT_EQ(c.job(large.id).counts.running, 2u);
}

TEST(unmet_demand, same_demand_of_all_jobs_is_shown_once) {
  cluster c;
  c.attach({.resources = {{"gpu", 2}}});
  closure_options const gpus{.resources = {{"gpu", 4}}};
  auto const job = c.open_with({asking(c, "f", gpus), asking(c, "f", gpus)});
  c.wait(1s);
  c.open_with({asking(c, "f", gpus)});
  auto const v = c.core.closures().unmet_demand();
  ASSERT_EQ(v.items.size(), 1u);
  EXPECT_TRUE(v.complete);
  EXPECT_EQ(v.items[0].needs.resources, gpus.resources);
  EXPECT_EQ(v.items[0].functions, names{"f"});
  EXPECT_EQ(v.items[0].queued, 3u);
  EXPECT_EQ(v.items[0].workers, 0u);
  EXPECT_EQ(v.items[0].first, job[0]);
  EXPECT_EQ(v.items[0].job, job.id);
  EXPECT_EQ(v.items[0].since, start);
  EXPECT_EQ(v.items[0].lack.why, closure_reason::unsatisfiable);
  EXPECT_EQ(v.items[0].lack.need, (unmet_need{unmet_need::kind::resource, "gpu", {}, 4, 1}));
}

TEST(unmet_demand, busy_workers_are_not_unmet_demand) {
  cluster c;
  c.attach({.resources = {{"gpu", 2}}});
  closure_options const gpus{.resources = {{"gpu", 2}}};
  c.open_with({asking(c, "f", gpus), asking(c, "f", gpus)});
  c.open({"f"});
  EXPECT_TRUE(c.core.closures().unmet_demand().items.empty());
}

TEST(unmet_demand, functions_without_a_worker_are_shown) {
  cluster c;
  c.attach();
  c.open({"g"});
  c.open({"h"});
  auto const v = c.core.closures().unmet_demand();
  ASSERT_EQ(v.items.size(), 2u);
  EXPECT_EQ(v.items[0].functions, names{"g"});
  EXPECT_EQ(v.items[0].lack.why, closure_reason::function_unseen);
  EXPECT_EQ(v.items[1].functions, names{"h"});
}

TEST(unmet_demand, functions_with_the_same_needs_are_combined) {
  cluster c;
  c.attach({.functions = {"f", "g"}});
  closure_options const o{.labels = {{"zone", "x"}}};
  c.open_with({asking(c, "f", o), asking(c, "g", o)});
  auto const v = c.core.closures().unmet_demand();
  ASSERT_EQ(v.items.size(), 1u);
  EXPECT_EQ(v.items[0].functions, (names{"f", "g"}));
  EXPECT_EQ(v.items[0].queued, 2u);
}

TEST(unmet_demand, truncated_list_is_marked_incomplete) {
  cluster c;
  c.attach();
  for (std::uint32_t i = 1; i <= 201; ++i)
    c.open_with({asking(c, "f", {.resources = {{"gpu", i}}})});
  EXPECT_EQ(c.core.closures().unmet_demand().items.size(), unmet_demand_view::max);
  EXPECT_FALSE(c.core.closures().unmet_demand().complete);
}

}  // namespace
}  // namespace muster::core
