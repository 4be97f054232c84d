#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

TEST(dispatch, idle_slots_are_filled_in_turn) {
  cluster c;
  auto const a = c.attach({.slots = 2, .credits = 2});
  auto const b = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open({"f", "f", "f", "f", "f"});
  EXPECT_EQ(c.held(a), closures({job[0], job[2]}));
  EXPECT_EQ(c.held(b), closures({job[1], job[3]}));
  EXPECT_EQ(c.state(job[4]), closure_state::queued);
}

TEST(dispatch, an_assignment_carries_function_arguments_and_attempt) {
  cluster c;
  auto const w = c.attach({.functions = {"g", "f"}});
  auto const job = c.open({"f"});
  EXPECT_EQ(c.fx().dispatches, (std::vector{dispatch{w, 0, 1, worker_number{1}, 1}}));
  EXPECT_EQ(c.fx().assignments, (std::vector{assignment{job[0], 1, c.function("f"), blob("1")}}));
}

TEST(dispatch, consecutive_closures_for_one_worker_are_sent_together) {
  cluster c;
  auto const w = c.attach({.slots = 3, .credits = 3});
  c.open({"f", "f", "f"});
  EXPECT_EQ(c.fx().dispatches, (std::vector{dispatch{w, 0, 3, worker_number{1}, 3}}));
}

TEST(dispatch, a_finished_closure_makes_room_for_exactly_one) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f", "f"});
  c.wait(20ms);  // neither quick nor slow
  c.succeed(w, job[0]);
  EXPECT_EQ(c.sent(w), closures({job[1]}));
  EXPECT_EQ(c.state(job[2]), closure_state::queued);
}

TEST(dispatch, a_session_is_served_in_schedule_order_across_functions) {
  cluster c;
  auto const w = c.attach({.functions = {"f", "g", "h"}, .slots = 7, .credits = 7});
  auto const held_up = c.open({"f", "f", "f", "f", "f", "f", "f"});
  auto const job = c.open({"f", "g", "g", "h", "f", "f", "g"});
  EXPECT_EQ(c.held(w), held_up.closures);
  std::vector<worker_result> all;
  for (auto const id : held_up.closures) all.push_back(c.good(w, id));
  c.answer(w, std::move(all));
  EXPECT_EQ(c.sent(w), job.closures);
}

TEST(dispatch, closures_prefetched_keep_schedule_order_across_functions) {
  cluster c;
  auto const w = c.attach({.functions = {"f", "g"}, .slots = 1, .credits = 8});
  auto const job = c.open({"f", "g", "g", "f", "g", "f", "f", "g", "g"});
  // The window grows.
  for (std::size_t done = 0; done < 4; ++done) c.succeed(w, job[done]);
  EXPECT_EQ(c.held(w), closures({job[4], job[5], job[6], job[7], job[8]}));
}

TEST(dispatch, closure_without_a_capable_worker_does_not_block_the_rest) {
  cluster c;
  auto const w = c.attach({.functions = {"f"}});
  auto const job = c.open({"rare", "f"});
  EXPECT_EQ(c.held(w), closures({job[1]}));
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  auto const able = c.attach({.functions = {"rare"}});
  EXPECT_EQ(c.sent(able), closures({job[0]}));
}

TEST(dispatch, worker_joining_an_existing_class_receives_waiting_closures) {
  cluster c;
  auto const a = c.attach();
  auto const job = c.open({"f", "f"});
  auto const b = c.attach();
  EXPECT_EQ(c.held(a), closures({job[0]}));
  EXPECT_EQ(c.sent(b), closures({job[1]}));
}

TEST(dispatch, workers_with_overlapping_functions_share_common_closures) {
  cluster c;
  auto const ab = c.attach({.functions = {"a", "b"}, .slots = 2, .credits = 2});
  auto const bc = c.attach({.functions = {"b", "c"}, .slots = 2, .credits = 2});
  auto const job = c.open({"a", "c", "b", "b", "b"});
  EXPECT_EQ(c.held(ab).size(), 2u);
  EXPECT_EQ(c.held(bc).size(), 2u);
  EXPECT_EQ(c.held(ab).at(0), job[0]);
  EXPECT_EQ(c.held(bc).at(0), job[1]);
  EXPECT_EQ(c.state(job[4]), closure_state::queued);
  c.succeed(bc, job[1]);
  EXPECT_EQ(c.sent(bc), closures({job[4]}));
}

TEST(dispatch, the_order_in_which_functions_are_declared_does_not_matter) {
  cluster c;
  c.attach({.functions = {"a", "b"}});
  c.attach({.functions = {"b", "a"}});
  auto const job = c.open({"a", "b"});
  EXPECT_EQ(c.fx().assignments.size(), 2u);
  EXPECT_EQ(c.state(job[1]), closure_state::running);
}

TEST(dispatch, a_class_that_ran_empty_and_returns_is_served_again) {
  cluster c;
  auto const first = c.attach({.functions = {"x"}});
  auto const job = c.open({"x", "x"});
  c.leave(first);
  c.attach({.functions = {"y"}});  // reuses the number of the removed class
  EXPECT_EQ(c.fx().assignments.size(), 0u);
  auto const again = c.attach({.functions = {"x"}});
  EXPECT_EQ(c.sent(again), closures({job[0]}));
  c.succeed(again, job[0]);
  EXPECT_EQ(c.sent(again), closures({job[1]}));
}

TEST(dispatch, open_session_with_an_emptied_queue_is_served_again) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"}, left_open());
  c.succeed(w, job[0]);
  EXPECT_EQ(c.held(w), closures{});
  auto const more = c.append(job.id, {"f"});
  EXPECT_EQ(c.sent(w), more);
}

}  // namespace
}  // namespace muster::core
