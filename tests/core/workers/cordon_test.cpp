#include "server/core/api/waiting_views.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace cordon_cases {

cordon_task cordon(std::int64_t index = 0) {
  return {{}, "worker", index, true};
}
cordon_task uncordon(std::int64_t index = 0) {
  return {{}, "worker", index, false};
}

TEST(cordon, running_closures_continue_and_no_new_ones_are_sent) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f"});
  EXPECT_EQ(c.status_of(cordon()), status{});
  EXPECT_EQ(
      c.said(),
      (std::vector{log_event{log_event_kind::task_cordoned, "worker:0",
                             "was cordoned: it receives no new work until it is uncordoned"}}));
  EXPECT_TRUE(c.task(0).cordoned);
  EXPECT_FALSE(c.task(0).draining);
  EXPECT_EQ(c.core.overview(c.now()).tasks_cordoned, 1u);
  c.succeed(w, job[0]);
  EXPECT_EQ(c.state(job[0]), closure_state::succeeded);
  EXPECT_EQ(c.state(job[1]), closure_state::queued);
  EXPECT_EQ(c.status_of(uncordon()), status{});
  EXPECT_EQ(
      c.said(),
      (std::vector{log_event{log_event_kind::task_uncordoned, "worker:0", "was uncordoned"}}));
  EXPECT_EQ(c.held(w), closures{job[1]});
  EXPECT_EQ(c.core.overview(c.now()).tasks_cordoned, 0u);
}

TEST(cordon, repeated_cordon_or_uncordon_is_not_logged) {
  cluster c;
  c.attach();
  c.status_of(uncordon());
  EXPECT_TRUE(c.said().empty());
  c.status_of(cordon());
  c.status_of(cordon());
  EXPECT_TRUE(c.said().empty());
}

TEST(cordon, of_an_unknown_task_is_refused) {
  cluster c;
  EXPECT_EQ(c.status_of(cordon()), (status{code::not_found, "there is no task worker:0"}));
}

TEST(cordon, prefetched_closures_are_retracted_and_run_elsewhere) {
  cluster c;
  auto const w = c.attach({.slots = 1, .credits = 8, .index = 0});
  for (auto const id : c.open(names(20, "f")).closures) c.succeed(w, id);
  auto const job = c.open(names(3, "f"));
  ASSERT_EQ(c.held(w).size(), 3u);
  c.status_of(cordon());
  EXPECT_EQ(c.fx().retractions,
            (std::vector{retract_request{w, job[1], 1}, retract_request{w, job[2], 1}}));
  c.step(worker_results{w, {}, {}, {{job[1], 1}, {job[2], 1}}});
  EXPECT_EQ(c.held(w), closures{job[0]});
  auto const other = c.attach({.index = 1});
  EXPECT_EQ(c.held(other), closures{job[1]});
}

TEST(cordon, remains_with_the_task_when_its_worker_changes) {
  cluster c;
  auto const first = c.attach({.index = 0, .incarnation = 1});
  c.status_of(cordon());
  c.leave(first);
  auto const second = c.attach({.index = 0, .incarnation = 2});
  EXPECT_TRUE(c.task(0).cordoned);
  auto const job = c.open({"f"});
  EXPECT_TRUE(c.held(second).empty());
  c.status_of(uncordon());
  EXPECT_EQ(c.held(second), job.closures);
}

TEST(cordon, of_an_absent_task_applies_when_it_returns) {
  cluster c;
  c.lose(c.attach({.index = 0}));
  EXPECT_EQ(c.status_of(cordon()), status{});
  auto const job = c.open({"f"});
  auto const w = c.attach({.index = 0});
  EXPECT_TRUE(c.held(w).empty());
}

TEST(cordon, returning_worker_is_asked_to_return_prefetched_closures) {
  cluster c;
  joining const who{.slots = 1, .credits = 8, .index = 0, .incarnation = 7};
  auto const w = c.attach(who);
  for (auto const id : c.open(names(20, "f")).closures) c.succeed(w, id);
  auto const job = c.open(names(2, "f"));
  c.status_of(cordon());
  auto const again = c.come_back(who, {job[0], job[1]});
  EXPECT_TRUE(c.task(0).cordoned);
  for (auto const id : job.closures) c.succeed(again, id);
  EXPECT_EQ(c.job(job.id).state, job_state::succeeded);
}

TEST(cordon, builds_wait_for_its_end) {
  cluster c;
  auto const w = c.attach();
  c.status_of(cordon());
  c.ask(create_per_worker{{}, "model", c.function("f"), {}, {}, 0});
  EXPECT_TRUE(c.fx().assignments.empty());
  c.status_of(uncordon());
  EXPECT_EQ(c.fx().assignments.size(), 1u);
  EXPECT_EQ(c.held(w).size(), 1u);
}

TEST(cordon, idle_cordoned_worker_is_no_room_for_a_gang) {
  cluster c;
  auto const a = c.attach({.index = 0});
  auto const b = c.attach({.index = 1});
  c.status_of(cordon(1));
  auto all = c.specs({"f", "f"});
  for (auto& spec : all)
    spec.extras = std::make_shared<closure_extras>(closure_extras{{.gang = "g"}, {}});
  c.open_with(all);
  EXPECT_TRUE(c.held(a).empty());
  auto const gangs = c.core.closures().gangs();
  ASSERT_EQ(gangs.items.size(), 1u);
  EXPECT_FALSE(gangs.items[0].waits.possible);
  c.status_of(uncordon(1));
  EXPECT_EQ(c.held(a).size() + c.held(b).size(), 2u);
}

TEST(cordon, explain_and_unmet_demand_report_that_only_cordoned_workers_match) {
  cluster c;
  c.attach({.index = 0, .labels = {{"zone", "a"}}});
  c.attach({.index = 1});
  c.status_of(cordon(0));
  auto spec = c.specs({"f"});
  spec[0].extras =
      std::make_shared<closure_extras>(closure_extras{{.labels = {{"zone", "a"}}}, {}});
  auto const job = c.open_with(spec);
  auto const lack = c.why(job[0]).lack.value();
  EXPECT_EQ(lack.why, closure_reason::workers_held_back);
  EXPECT_EQ(lack.draining, 0u);
  EXPECT_EQ(lack.cordoned, 1u);
  EXPECT_EQ(lack.cordoned_task, "worker:0");
  auto const unmet_demand = c.core.closures().unmet_demand();
  ASSERT_EQ(unmet_demand.items.size(), 1u);
  EXPECT_EQ(unmet_demand.items[0].lack, lack);
  EXPECT_EQ(unmet_demand.items[0].workers, 1u);
}

TEST(cordon, explain_counts_cordoned_workers_when_no_other_has_the_function) {
  cluster c;
  c.attach();
  c.status_of(cordon());
  auto const job = c.open({"f"});
  auto const lack = c.why(job[0]).lack.value();
  EXPECT_EQ(lack.why, closure_reason::workers_closed);
  EXPECT_EQ(lack.function, "f");
  EXPECT_EQ(lack.draining + lack.away, 0u);
  EXPECT_EQ(lack.cordoned, 1u);
}

}  // namespace cordon_cases
}  // namespace muster::core
