#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

struct recoverable_rules : testing::Test {
  recoverable_rules() { s.enlist_all(); }
  scene s{{.tasks = 2, .spec = {.recoverable = true}}};
};

TEST_F(recoverable_rules, silence_is_not_reported_to_other_tasks) {
  auto const poll = s.poll(1);
  s.advance(60s);
  s.beat(1);
  s.advance(40s);
  EXPECT_EQ(s.state_of(0), agent_state::error);
  EXPECT_TRUE(s.parked(poll));
  EXPECT_EQ(s.generation().state, generation_state::running);
  EXPECT_FALSE(s.generation().cause);
}

TEST_F(recoverable_rules, after_silence_a_new_incarnation_may_register) {
  s.advance(60s);
  s.beat(1);
  s.advance(40s);
  EXPECT_EQ(s.code_of(s.enlist(0, 200)), code::ok);
  EXPECT_EQ(s.code_of(s.beat(0, 200)), code::ok);
  EXPECT_EQ(s.generation().number, 1u);
  EXPECT_EQ(s.state_of(0), agent_state::connected);
}

TEST_F(recoverable_rules, a_restart_needs_no_silence) {
  EXPECT_EQ(s.code_of(s.enlist(0, 200)), code::ok);
  EXPECT_EQ(s.log_events(log_event_kind::task_restarted).size(), 1u);
}

TEST_F(recoverable_rules, heartbeats_of_the_old_incarnation_are_not_counted) {
  s.enlist(0, 200);
  s.advance(60s);
  s.beat(1);
  EXPECT_EQ(s.code_of(s.beat(0)), code::ok);
  s.advance(40s);
  EXPECT_EQ(s.state_of(0), agent_state::error);
  EXPECT_EQ(s.state_of(1), agent_state::connected);
}

TEST_F(recoverable_rules, a_reported_error_needs_a_reset) {
  s.report(0, code::internal, "x");
  EXPECT_EQ(s.code_of(s.enlist(0, 200)), code::aborted);
  EXPECT_EQ(s.code_of(s.reset(0)), code::ok);
  EXPECT_EQ(s.code_of(s.enlist(0, 200)), code::ok);
}

TEST_F(recoverable_rules, leaving_does_not_wait_for_others) {
  EXPECT_EQ(s.code_of(s.leave(0)), code::ok);
  EXPECT_EQ(s.state_of(1), agent_state::connected);
}

TEST_F(recoverable_rules, barriers_survive_the_restart_of_a_waiting_task) {
  auto const old = s.barrier("b", 0);
  s.enlist(0, 200);
  EXPECT_EQ(s.code_of(old), code::cancelled);
  EXPECT_FALSE(s.fault_of(old).coordination);
  auto const b = s.barrier("b", 1);
  EXPECT_TRUE(s.parked(b));
  EXPECT_EQ(s.code_of(s.barrier("b", 0)), code::ok);
  EXPECT_EQ(s.code_of(b), code::ok);
}

TEST_F(recoverable_rules, a_restarted_task_joins_whatever_instance_there_is) {
  for (std::int64_t round = 0; round < 3; ++round)
    s.barrier("b", 0, {.counter = round}), s.barrier("b", 1, {.counter = round});
  auto const b = s.barrier("b", 1, {.counter = 3});
  s.enlist(0, 200);
  auto const joined = s.barrier("b", 0, {.counter = 0});
  EXPECT_EQ(s.code_of(b), code::ok);
  EXPECT_EQ(std::get<std::int64_t>(s.reply_to(joined).body), 3);
  s.enlist(0, 201);
  auto const opened = s.barrier("b", 0, {.counter = 0});
  EXPECT_EQ(s.code_of(s.barrier("b", 1, {.counter = 4})), code::ok);
  EXPECT_EQ(std::get<std::int64_t>(s.reply_to(opened).body), 4);
}

TEST(recoverable, missing_task_fails_the_registration_of_all) {
  scene s({.tasks = 2, .spec = {.register_timeout = 5s, .recoverable = true}});
  auto const a = s.enlist(0);
  s.advance(5s);
  EXPECT_EQ(s.code_of(a), code::deadline_exceeded);
}

TEST(recoverable, is_set_by_the_task_or_by_its_job) {
  cluster_spec spec;
  spec.jobs = {{"steady", 2, false}, {"spot", 1, true}};
  scene s({.spec = spec});
  s.enlist(0);
  s.ask(register_task{{}, s.ref(1), incarnation{101}, true, ""});
  s.enlist(2);
  auto const poll = s.poll(0);
  s.report(1, code::unavailable, "mine");
  s.report(2, code::unavailable, "mine");
  EXPECT_TRUE(s.parked(poll));
  EXPECT_EQ(s.code_of(s.enlist(1, 200)), code::ok);
  EXPECT_EQ(s.code_of(s.enlist(2, 201)), code::ok);
  auto const barrier = s.barrier("b", 1);
  s.report(0, code::internal, "everybody's");
  EXPECT_EQ(s.code_of(poll), code::internal);
  EXPECT_EQ(s.code_of(barrier), code::internal);
}

TEST(recoverable, steady_tasks_leave_together_without_waiting_for_the_others) {
  cluster_spec spec;
  spec.jobs = {{"steady", 2, false}, {"spot", 1, true}};
  scene s({.spec = spec});
  s.enlist_all();
  auto const a = s.leave(0);
  EXPECT_TRUE(s.parked(a));
  s.leave(1);
  EXPECT_EQ(s.code_of(a), code::ok);
  EXPECT_EQ(s.state_of(2), agent_state::connected);
}

TEST(recoverable, allow_reconnect_readmits_silent_tasks) {
  scene s({.tasks = 2, .spec = {.allow_reconnect = true, .renew = false}});
  s.enlist_all();
  s.poll(1);
  s.advance(60s);
  s.beat(1);
  s.advance(40s);
  ASSERT_EQ(s.generation().state, generation_state::failed);
  EXPECT_EQ(s.code_of(s.enlist(0, 200)), code::ok);
  EXPECT_EQ(s.generation().number, 1u);
  EXPECT_EQ(s.code_of(s.beat(0, 200)), code::ok) << "the failure was before its time";
  EXPECT_EQ(s.code_of(s.beat(1)), code::ok) << "it was notified";
}

TEST(recoverable, failed_renewable_generation_readmits_no_task) {
  cluster_spec spec;
  spec.jobs = {{"steady", 2, false}, {"spot", 1, true}};
  spec.allow_reconnect = true;
  scene s({.spec = spec});
  s.enlist_all();
  s.poll(1);
  s.advance(60s);
  s.beat(1);
  s.advance(40s);
  ASSERT_EQ(s.generation().state, generation_state::failed);
  ASSERT_EQ(s.state_of(2), agent_state::error);
  s.enlist(2, 202);
  EXPECT_EQ(s.generation().number, 2u) << "although it is recoverable";
  s.enlist(0, 200);
  EXPECT_EQ(s.generation().number, 2u);
  s.enlist(1, 201);
  for (task_index const t : {0u, 1u, 2u}) EXPECT_EQ(s.code_of(s.beat(t, 200 + t)), code::ok);
}

TEST(recoverable, allow_reconnect_does_not_keep_a_lost_generation_alive) {
  scene s({.tasks = 2, .spec = {.allow_reconnect = true}});
  s.enlist_all();
  EXPECT_EQ(s.code_of(s.enlist(0, 200)), code::aborted) << "it was not silent";
  EXPECT_TRUE(s.parked(s.enlist(0, 200)));
  EXPECT_EQ(s.generation().number, 2u);
}

}  // namespace
}  // namespace muster::core::coordination
