#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

TEST(limits, more_functions_than_allowed_are_refused_with_the_number) {
  config small;
  small.functions_per_worker_max = 2;
  cluster c(small);
  auto const w = c.attach({.functions = {"a", "b", "c"}});
  EXPECT_EQ(c.fx().disconnects,
            (std::vector{disconnect{
                w,
                {code::resource_exhausted, "the worker declares 3 functions; the limit is 2"},
                false}}));
  EXPECT_TRUE(c.core.workers().list(0, 10, {}).items.empty()) << "it leaves no trace";
  c.attach({.functions = {"a", "b"}});
  EXPECT_EQ(c.fx().welcomes.size(), 1u);
}

TEST(limits, a_worker_with_an_impossible_function_name_is_refused) {
  cluster c;
  auto const w = c.attach({.functions = {"good", ""}});
  EXPECT_EQ(
      c.fx().disconnects,
      (std::vector{disconnect{w, {code::invalid_argument, "the function name is empty"}, false}}));
  EXPECT_FALSE(c.core.workers().find("worker", 0));
}

TEST(limits, full_task_table_removes_the_task_that_has_been_dead_longest) {
  config small;
  small.tasks_max = 3;
  cluster c(small);
  auto const a = c.attach({.index = 0});
  auto const b = c.attach({.index = 1});
  c.attach({.index = 2});
  c.wait(1s);
  c.lose(b);
  c.wait(1s);
  c.leave(a);
  c.attach({.index = 9});
  EXPECT_EQ(c.fx().welcomes.at(0).index, 9);
  EXPECT_FALSE(c.core.workers().find("worker", 1));
  EXPECT_TRUE(c.core.workers().find("worker", 0));
}

TEST(limits, task_table_full_of_live_tasks_rejects_the_next) {
  config small;
  small.tasks_max = 2;
  cluster c(small);
  c.attach({.index = 0});
  c.attach({.index = 1});
  auto const w = c.attach({.index = 2});
  EXPECT_EQ(c.fx().disconnects,
            (std::vector{disconnect{w,
                                    {code::resource_exhausted,
                                     "the server has 2 tasks, which is the limit (--tasks-max)"},
                                    false}}));
  c.attach({.index = 1});
  EXPECT_EQ(c.fx().welcomes.size(), 1u) << "an existing row can always be taken over";
}

TEST(limits, credits_are_clamped_and_the_worker_is_notified) {
  config small;
  small.credits_max = 8;
  cluster c(small);
  c.attach({.slots = 2, .credits = 1'000});
  EXPECT_EQ(c.fx().welcomes.at(0).credits, 8u);
  c.attach({.slots = 0, .credits = 0});
  EXPECT_EQ(c.fx().welcomes.at(0).credits, 1u);
  EXPECT_EQ(c.task(1).slots, 1u);
}

TEST(limits, slots_beyond_the_credits_are_unused) {
  cluster c;
  auto const w = c.attach({.slots = 10, .credits = 3});
  EXPECT_EQ(c.task(0).slots, 3u);
  auto const job = c.open({"f", "f", "f", "f", "f"});
  EXPECT_EQ(c.sent(w), closures({job[0], job[1], job[2]}));
}

TEST(limits, a_function_declared_twice_counts_once) {
  cluster c;
  auto const w = c.attach({.functions = {"f", "f"}});
  EXPECT_EQ(c.core.functions().all().at(0).workers, 1u);
  c.lose(w);
  EXPECT_EQ(c.core.functions().all().at(0).workers, 0u);
}

TEST(limits, a_worker_without_functions_gets_nothing) {
  cluster c;
  auto const w = c.attach({.functions = {}});
  c.open({"f"});
  EXPECT_EQ(c.held(w), closures{});
  EXPECT_EQ(c.fx().welcomes.size() + c.fx().disconnects.size(), 0u);
}

}  // namespace
}  // namespace muster::core
