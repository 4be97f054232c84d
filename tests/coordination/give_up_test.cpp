// Every task receives the reason, and waits end.
#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

constexpr auto reason = "the storage is gone";

struct given_up : testing::Test {
  scene s{{.tasks = 3}};
  void SetUp() override { s.enlist_all(); }
};

TEST_F(given_up, polling_task_receives_the_error_at_once) {
  auto const first = s.poll(0), second = s.poll(1);
  ASSERT_TRUE(s.fail(code::internal, reason).ok());
  for (auto const call : {first, second, s.poll(2)}) {
    EXPECT_EQ(s.code_of(call), code::internal);
    EXPECT_EQ(s.message_of(call), reason);
    EXPECT_EQ(s.fault_of(call).source, no_task);
  }
}

TEST_F(given_up, other_tasks_receive_the_error_with_the_next_heartbeat) {
  s.poll(0);
  ASSERT_TRUE(s.fail(code::internal, reason).ok());
  EXPECT_EQ(s.code_of(s.beat(1)), code::aborted);
  EXPECT_NE(s.message_of(s.beat(2)).find(reason), std::string::npos);
  EXPECT_EQ(s.state_of(1), agent_state::connected);
}

TEST_F(given_up, all_tasks_are_in_error_if_none_polls) {
  ASSERT_TRUE(s.fail(code::internal, reason).ok());
  for (task_index t = 0; t < 3; ++t) {
    EXPECT_EQ(s.state_of(t), agent_state::error);
    EXPECT_NE(s.agent(t).error->message.find(reason), std::string::npos);
  }
}

TEST_F(given_up, waiting_calls_are_answered_with_the_error) {
  s.poll(0);
  auto const at_barrier = s.barrier("b", 0);
  auto const for_key = s.get("k");
  auto const for_answers = s.alive(1, {0, 1, 2});
  auto const watching = s.watch(s.version());
  ASSERT_TRUE(s.fail(code::unavailable, reason).ok());
  for (auto const call : {at_barrier, for_key, for_answers}) {
    ASSERT_EQ(s.code_of(call), code::unavailable);
    EXPECT_NE(s.message_of(call).find(reason), std::string::npos);
  }
  EXPECT_EQ(s.fault_of(at_barrier).barrier->id, "b") << "agents continue counting from it";
  EXPECT_TRUE(s.parked(watching)) << "it shows the final states of the tasks";
  EXPECT_EQ(s.changed<barrier_ended>().back().how, barrier_outcome::given_up);
}

TEST_F(given_up, alive_query_returns_the_error_if_no_task_polls) {
  auto const asks = s.alive(1, {0, 1, 2});
  ASSERT_TRUE(s.parked(asks));
  ASSERT_TRUE(s.fail(code::unavailable, reason).ok());
  EXPECT_EQ(s.code_of(asks), code::unavailable);
  EXPECT_EQ(s.message_of(asks), reason);
}

TEST_F(given_up, alive_query_returns_the_error_while_a_task_leaves) {
  s.poll(1);
  auto const asks = s.alive(1, {0, 1, 2});
  auto const leaves = s.leave(0);
  ASSERT_TRUE(s.parked(asks));
  ASSERT_TRUE(s.parked(leaves));
  ASSERT_TRUE(s.fail(code::unavailable, reason).ok());
  EXPECT_EQ(s.code_of(asks), code::unavailable);
  EXPECT_FALSE(s.parked(leaves));
}

TEST_F(given_up, generation_has_failed_without_a_culprit) {
  s.poll(0);
  ASSERT_TRUE(s.fail(code::internal, reason).ok());
  auto const g = s.generation();
  EXPECT_EQ(g.state, generation_state::failed);
  ASSERT_TRUE(g.cause.has_value());
  EXPECT_EQ(g.cause->message, reason);
  EXPECT_EQ(g.cause->task, "");
  EXPECT_EQ(s.changed<generation_changed>().back().why, generation_why::given_up);
  EXPECT_EQ(s.fail(code::internal, "twice").code, code::failed_precondition);
  EXPECT_EQ(s.generation().cause->message, reason);
}

TEST_F(given_up, later_calls_are_answered_normally_by_default) {
  s.poll(0);
  ASSERT_TRUE(s.fail(code::internal, reason).ok());
  EXPECT_EQ(s.code_of(s.set("k", "v")), code::ok);
}

TEST_F(given_up, later_calls_are_refused_if_requested) {
  s.poll(0);
  s.set("k", "v");
  ASSERT_TRUE(s.fail(code::internal, reason, true).ok());
  for (auto const call : {s.try_get("k"), s.get("never"), s.set("l", "v"), s.increment("n", 1),
                          s.dir(""), s.erase("k"), s.barrier("b", 0), s.alive(0, {0, 1})}) {
    EXPECT_EQ(s.code_of(call), code::internal);
    EXPECT_EQ(s.message_of(call), reason);
  }
  EXPECT_NE(s.states_of(s.watch(-1)), nullptr) << "users see the final states of the tasks";
  s.restart();
  EXPECT_EQ(s.code_of(s.try_get("k")), code::internal) << "after a restart, too";
  auto const leaves = s.leave(0);
  s.leave(1), s.leave(2);
  EXPECT_EQ(s.code_of(leaves), code::ok);
}

TEST_F(given_up, next_generation_is_not_affected) {
  s.poll(0);
  ASSERT_TRUE(s.fail(code::internal, reason, true).ok());
  for (task_index t = 0; t < 3; ++t) s.enlist(t, 200 + t);
  EXPECT_EQ(s.generation().number, 2u);
  EXPECT_EQ(s.generation().state, generation_state::running);
  EXPECT_EQ(s.code_of(s.set("k", "v")), code::ok);
}

TEST(giving_up, ends_the_wait_for_registration) {
  scene s{{.tasks = 2}};
  auto const waits = s.enlist(0);
  ASSERT_TRUE(s.parked(waits));
  ASSERT_TRUE(s.fail(code::aborted, reason).ok());
  EXPECT_EQ(s.code_of(waits), code::failed_precondition) << "agents would repeat it after ABORTED";
  EXPECT_NE(s.message_of(waits).find(reason), std::string::npos);
}

TEST(giving_up, ends_the_wait_of_leaving_tasks) {
  scene s{{.tasks = 2}};
  s.enlist_all();
  auto const leaves = s.leave(0);
  ASSERT_TRUE(s.parked(leaves));
  ASSERT_TRUE(s.fail(code::aborted, reason).ok());
  EXPECT_FALSE(s.parked(leaves));
  EXPECT_NE(s.message_of(leaves).find(reason), std::string::npos);
}

TEST(giving_up, is_refused_before_any_registration_and_after_all_have_left) {
  scene s{{.tasks = 1}};
  EXPECT_EQ(s.fail(code::aborted, reason).code, code::failed_precondition);
  s.enlist(0);
  s.leave(0);
  ASSERT_EQ(s.generation().state, generation_state::finished);
  EXPECT_EQ(s.fail(code::aborted, reason).code, code::failed_precondition);
}

TEST(giving_up, also_applies_to_recoverable_tasks) {
  scene s{{.spec = {.jobs = {{"worker", 2, false}}, .recoverable = true}}};
  s.enlist_all();
  auto const at_barrier = s.barrier("b", 0);
  ASSERT_TRUE(s.fail(code::aborted, reason).ok());
  EXPECT_EQ(s.code_of(at_barrier), code::aborted);
  EXPECT_EQ(s.generation().state, generation_state::failed);
}

}  // namespace
}  // namespace muster::core::coordination
