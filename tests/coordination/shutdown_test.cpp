#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

TEST(shutdown, no_task_leaves_before_the_last_has_called) {
  scene s({.tasks = 3});
  s.enlist_all();
  auto const poll = s.poll(0);
  auto const a = s.leave(0), b = s.leave(1);
  EXPECT_TRUE(s.parked(a) && s.parked(b) && s.parked(poll));
  EXPECT_EQ(s.state_of(0), agent_state::connected);
  auto const c = s.leave(2);
  for (auto const call : {a, b, c}) EXPECT_EQ(s.code_of(call), code::ok);
  EXPECT_EQ(s.code_of(poll), code::cancelled);
  for (task_index t = 0; t < 3; ++t) EXPECT_EQ(s.state_of(t), agent_state::disconnected);
  EXPECT_EQ(s.generation().state, generation_state::finished);
  EXPECT_EQ(s.log_events(log_event_kind::generation_ended).size(), 1u);
  EXPECT_EQ(s.code_of(s.leave(1)), code::ok) << "a task whose reply was lost calls again";
}

TEST(shutdown, a_task_that_registers_again_afterwards_leaves_alone) {
  scene s({.tasks = 2, .spec = {.renew = false}});
  s.enlist_all();
  for (task_index t : {0u, 1u}) s.leave(t);
  ASSERT_EQ(s.code_of(s.enlist(0, 200)), code::ok);
  ASSERT_EQ(s.state_of(0), agent_state::connected);
  EXPECT_EQ(s.code_of(s.leave(0)), code::ok);
  EXPECT_EQ(s.state_of(0), agent_state::disconnected);
}

TEST(shutdown, timeout_fails_all_and_names_missing_tasks) {
  scene s({.tasks = 3, .spec = {.shutdown_timeout = 10s}});
  s.enlist_all();
  auto const poll = s.poll(0);
  auto const a = s.leave(0);
  s.leave(1);
  s.advance(10s);
  EXPECT_EQ(s.code_of(a), code::internal);
  EXPECT_NE(s.message_of(a).find("timed out"), std::string::npos);
  EXPECT_NE(s.message_of(a).find("Missing 1: /job:worker/task:2"), std::string::npos);
  EXPECT_EQ(s.code_of(poll), code::internal);
  EXPECT_EQ(s.code_of(s.beat(2)), code::aborted);
  EXPECT_EQ(s.generation().cause->task, "/job:worker/task:2");
  EXPECT_FALSE(s.agent(2).casualty);
  EXPECT_TRUE(s.agent(0).casualty);
}

TEST(shutdown, failure_without_polls_sets_all_tasks_in_error) {
  scene s({.tasks = 2, .spec = {.shutdown_timeout = 10s}});
  s.enlist_all();
  s.leave(0);
  s.advance(10s);
  for (task_index t = 0; t < 2; ++t) EXPECT_EQ(s.state_of(t), agent_state::error);
  auto const late = s.leave(1);
  EXPECT_EQ(s.code_of(late), code::internal);
  EXPECT_NE(s.message_of(late).find("timed out"), std::string::npos);
}

TEST(shutdown, fails_at_once_when_a_participant_fails) {
  scene s({.tasks = 2});
  s.enlist_all();
  auto const a = s.leave(0);
  s.report(1, code::internal, "segfault in user code");
  EXPECT_EQ(s.code_of(a), code::internal);
  EXPECT_NE(s.message_of(a).find("segfault in user code"), std::string::npos);
}

TEST(shutdown, after_a_failure_names_the_first_cause) {
  scene s({.tasks = 2});
  s.enlist_all();
  s.poll(0);
  s.report(1, code::internal, "segfault in user code");
  auto const a = s.leave(0);
  EXPECT_EQ(s.code_of(a), code::internal);
  EXPECT_NE(s.message_of(a).find("segfault in user code"), std::string::npos);
}

TEST(shutdown, restart_of_a_task_during_the_wait_fails_all) {
  scene s({.tasks = 2, .spec = {.renew = false}});
  s.enlist_all();
  auto const a = s.leave(0);
  EXPECT_EQ(s.code_of(s.enlist(1, 999)), code::aborted);
  EXPECT_EQ(s.code_of(a), code::internal);
  EXPECT_NE(s.message_of(a).find("different incarnation"), std::string::npos);
}

TEST(shutdown, waits_for_a_disconnected_caller_to_call_again) {
  scene s({.tasks = 2});
  s.enlist_all();
  s.gone(s.leave(0));
  auto const b = s.leave(1);
  EXPECT_TRUE(s.parked(b));
  EXPECT_EQ(s.code_of(s.leave(0)), code::ok);
  EXPECT_EQ(s.code_of(b), code::ok);
}

TEST(shutdown, without_a_barrier_concerns_the_task_alone) {
  scene s({.tasks = 2, .spec = {.shutdown_timeout = 0s}});
  s.enlist_all();
  EXPECT_EQ(s.code_of(s.leave(0)), code::ok);
  EXPECT_EQ(s.code_of(s.leave(0)), code::failed_precondition);
  EXPECT_EQ(s.code_of(s.leave(9)), code::invalid_argument);
  EXPECT_EQ(s.state_of(1), agent_state::connected);
  EXPECT_EQ(s.generation().state, generation_state::running);
}

TEST(shutdown, breaks_barriers_that_still_wait_for_the_task) {
  scene s({.tasks = 2, .spec = {.shutdown_timeout = 0s}});
  s.enlist_all();
  auto const b = s.barrier("b", 1);
  s.leave(0);
  EXPECT_EQ(s.code_of(b), code::internal);
}

TEST(shutdown, requires_a_connected_task) {
  scene s({.tasks = 2, .spec = {.shutdown_timeout = 10s}});
  EXPECT_EQ(s.code_of(s.leave(0)), code::failed_precondition);
  s.enlist(0);
  EXPECT_EQ(s.code_of(s.leave(1)), code::failed_precondition);
  s.enlist(1);
  s.advance(11s);
  auto const a = s.leave(0);
  s.advance(9s);
  EXPECT_TRUE(s.parked(a)) << "its clock began with the first arrival";
  EXPECT_EQ(s.code_of(s.leave(1)), code::ok);
}

TEST(shutdown, reset_requires_a_connected_task) {
  scene s({.tasks = 1, .spec = {.renew = false}});
  EXPECT_EQ(s.code_of(s.reset(0)), code::failed_precondition);
  EXPECT_EQ(s.code_of(s.reset(4)), code::invalid_argument);
  s.enlist(0);
  EXPECT_EQ(s.code_of(s.reset(0)), code::ok);
  EXPECT_EQ(s.code_of(s.poll(0)), std::nullopt) << "in its grace period";
  EXPECT_EQ(s.code_of(s.enlist(0)), code::ok) << "the registration barrier is replayed";
}

}  // namespace
}  // namespace muster::core::coordination
