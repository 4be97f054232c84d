#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

TEST(error_propagation, a_reported_error_reaches_every_poll) {
  scene s({.tasks = 3});
  s.enlist_all();
  auto const b = s.poll(1), c = s.poll(2);
  EXPECT_EQ(s.code_of(s.report(0, code::out_of_range, "GPU 3 fell off")), code::ok);
  for (auto const poll : {b, c}) {
    EXPECT_EQ(s.code_of(poll), code::out_of_range);
    EXPECT_TRUE(s.fault_of(poll).reported);
    EXPECT_EQ(s.fault_of(poll).source, 0u);
    EXPECT_NE(s.message_of(poll).find("GPU 3 fell off"), std::string::npos);
  }
  EXPECT_EQ(s.code_of(s.poll(1)), code::out_of_range) << "a late poll receives it too";
  EXPECT_EQ(s.code_of(s.poll(0)), code::failed_precondition) << "the failed task does not";
}

TEST(error_propagation, happens_once_in_a_generation) {
  scene s({.tasks = 3});
  s.enlist_all();
  s.poll(2);
  s.report(0, code::aborted, "first");
  s.report(1, code::internal, "second");
  EXPECT_NE(s.message_of(s.poll(2)).find("first"), std::string::npos);
  EXPECT_EQ(s.log_events(log_event_kind::generation_failed).size(), 1u);
}

TEST(error_propagation, error_with_code_ok_becomes_unknown) {
  scene s;
  s.enlist_all();
  auto const poll = s.poll(1);
  s.report(0, code::ok, "");
  EXPECT_EQ(s.code_of(poll), code::unknown);
}

TEST(error_propagation, reports_need_a_connected_task_of_the_cluster) {
  scene s({.tasks = 1});
  EXPECT_EQ(s.code_of(s.report(5, code::internal, "x")), code::invalid_argument);
  EXPECT_EQ(s.code_of(s.report(0, code::internal, "x")), code::failed_precondition);
  s.enlist(0);
  EXPECT_EQ(s.code_of(s.report(0, code::internal, "x")), code::ok);
  EXPECT_EQ(s.code_of(s.report(0, code::internal, "x")), code::failed_precondition);
}

TEST(error_propagation, polls_require_a_connected_task) {
  scene s({.tasks = 2, .spec = {.shutdown_timeout = 0s}});
  EXPECT_EQ(s.code_of(s.poll(9)), code::invalid_argument);
  EXPECT_EQ(s.code_of(s.poll(0)), code::failed_precondition);
  s.enlist_all();
  auto const poll = s.poll(0);
  EXPECT_TRUE(s.parked(poll));
  s.leave(0);
  EXPECT_EQ(s.code_of(poll), code::cancelled);
  EXPECT_TRUE(s.fault_of(poll).coordination);
  auto const in_grace = s.poll(0);
  EXPECT_TRUE(s.parked(in_grace));
  s.beat(1);
  s.advance(60s);
  s.beat(1);
  s.advance(60s);
  EXPECT_EQ(s.code_of(s.poll(0)), code::failed_precondition);
}

TEST(error_propagation, a_younger_poll_replaces_the_older) {
  scene s;
  s.enlist_all();
  auto const old = s.poll(0);
  auto const young = s.poll(0);
  EXPECT_EQ(s.code_of(old), code::cancelled);
  EXPECT_TRUE(s.fault_of(old).coordination);
  EXPECT_TRUE(s.parked(young));
}

TEST(error_propagation, ends_polls_without_a_payload_when_the_service_stops) {
  scene s;
  s.enlist_all();
  auto const poll = s.poll(0);
  s.stop();
  EXPECT_EQ(s.code_of(poll), code::cancelled);
  EXPECT_FALSE(s.fault_of(poll).coordination);
  auto const late = s.poll(1);
  EXPECT_EQ(s.code_of(late), code::cancelled) << "anything else would kill an agent that waits for "
                                                 "the service to come back";
  EXPECT_EQ(s.code_of(s.beat(1)), code::internal);
  EXPECT_EQ(s.code_of(s.set("k", "v")), code::internal);
  EXPECT_EQ(s.code_of(s.enlist(0)), code::internal);
}

TEST(error_propagation, heartbeats_deliver_the_error_if_no_task_polls) {
  scene s({.tasks = 3});
  s.enlist_all();
  s.report(0, code::unavailable, "lost the mesh");
  for (task_index t = 0; t < 3; ++t) EXPECT_EQ(s.state_of(t), agent_state::error);
  auto const beat = s.beat(2);
  EXPECT_EQ(s.code_of(beat), code::aborted);
  EXPECT_NE(s.message_of(beat).find("lost the mesh"), std::string::npos);
  EXPECT_FALSE(s.agent(0).casualty);
  EXPECT_TRUE(s.agent(1).casualty);
  EXPECT_TRUE(s.agent(2).casualty);
}

TEST(error_propagation, heartbeats_deliver_the_error_to_tasks_that_do_not_poll) {
  scene s({.tasks = 3});
  s.enlist_all();
  s.poll(1);
  s.report(0, code::unavailable, "lost the mesh");
  EXPECT_EQ(s.code_of(s.beat(1)), code::ok) << "it received the error by its poll";
  auto const beat = s.beat(2);
  EXPECT_EQ(s.code_of(beat), code::aborted);
  EXPECT_NE(s.message_of(beat).find("lost the mesh"), std::string::npos);
}

TEST(error_propagation, distinguishes_the_first_cause_from_its_casualties) {
  scene s({.tasks = 3});
  s.enlist_all();
  s.poll(1), s.poll(2);
  s.advance(60s);
  s.beat(1), s.beat(2);
  s.advance(40s);
  ASSERT_EQ(s.generation().state, generation_state::failed);
  auto const cause = s.generation().cause;
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->task, "/job:worker/task:0");
  EXPECT_EQ(cause->peer, "10.0.0.0:4711");
  EXPECT_FALSE(s.agent(0).casualty);
  // The other tasks die as a consequence.
  s.report(1, code::internal, "collective failed");
  EXPECT_TRUE(s.agent(1).casualty);
  s.advance(70s);
  EXPECT_EQ(s.agent(2).health, agent_health::error);
  EXPECT_TRUE(s.agent(2).casualty);
  EXPECT_EQ(s.generation().cause->task, "/job:worker/task:0");
}

TEST(error_propagation, task_overdue_before_the_first_failure_is_not_a_casualty) {
  scene s({.tasks = 3});
  s.enlist_all();
  auto const poll = s.poll(2);
  s.advance(10s);
  s.beat(1);  // its last heartbeat; task 0 sends none
  s.advance(50s);
  s.beat(2);
  s.advance(40s);
  EXPECT_EQ(s.code_of(poll), code::unavailable);
  EXPECT_NE(s.message_of(poll).find("Also overdue: /job:worker/task:1"), std::string::npos)
      << s.message_of(poll);
  s.advance(20s);
  EXPECT_EQ(s.agent(1).health, agent_health::error);
  EXPECT_FALSE(s.agent(1).casualty);
}

TEST(error_propagation, a_failed_barrier_names_the_first_cause) {
  scene s({.tasks = 3});
  s.enlist_all();
  s.poll(1);
  s.report(0, code::internal, "ECC error on GPU 5");
  auto const after = s.barrier("b", 1);
  EXPECT_EQ(s.code_of(after), code::internal);
  EXPECT_NE(s.message_of(after).find("ECC error on GPU 5"), std::string::npos);
}

TEST(error_propagation, first_cause_is_reported_even_if_it_breaks_the_shutdown_barrier) {
  scene s({.tasks = 3});
  s.enlist_all();
  auto const poll = s.poll(1);
  auto const leaving = s.leave(2);
  s.advance(60s);
  s.beat(1), s.beat(2);
  s.advance(40s);
  EXPECT_EQ(s.code_of(poll), code::unavailable) << "not the barrier that failed as a consequence";
  EXPECT_EQ(s.code_of(leaving), code::internal);
  EXPECT_NE(s.message_of(leaving).find("heartbeat timeout"), std::string::npos);
  EXPECT_FALSE(s.agent(0).casualty);
  EXPECT_TRUE(s.agent(1).casualty);
}

}  // namespace
}  // namespace muster::core::coordination
