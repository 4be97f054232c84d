#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

TEST(registration, no_task_returns_before_the_last_registers) {
  scene s({.tasks = 3});
  auto const a = s.enlist(0);
  auto const b = s.enlist(1);
  EXPECT_TRUE(s.parked(a) && s.parked(b));
  EXPECT_EQ(s.generation().state, generation_state::registering);
  auto const c = s.enlist(2);
  for (auto const call : {a, b, c}) {
    EXPECT_EQ(s.code_of(call), code::ok);
    EXPECT_EQ(std::get<incarnation>(s.reply_to(call).body), s.incarnation());
  }
  EXPECT_EQ(s.generation().state, generation_state::running);
  EXPECT_EQ(s.log_events(log_event_kind::cluster_ready).size(), 1u);
}

TEST(registration, unknown_task_is_rejected_without_side_effects) {
  scene s({.tasks = 1});
  s.enlist(0);
  auto const poll = s.poll(0);
  auto const stranger = s.enlist(7);
  EXPECT_EQ(s.code_of(stranger), code::invalid_argument);
  EXPECT_NE(s.message_of(stranger).find("/job:worker/task:7"), std::string::npos);
  EXPECT_TRUE(s.fault_of(stranger).coordination);
  EXPECT_TRUE(s.parked(poll));
}

TEST(registration, again_with_the_same_incarnation_is_harmless_and_counts_as_a_heartbeat) {
  scene s({.tasks = 1});
  s.enlist(0);
  s.advance(90s);
  EXPECT_EQ(s.code_of(s.enlist(0)), code::ok);
  s.advance(90s);
  EXPECT_EQ(s.code_of(s.beat(0)), code::ok);
}

TEST(registration, another_incarnation_fails_and_all_tasks_are_notified) {
  scene s({.spec = {.renew = false}});
  s.enlist_all();
  auto const poll = s.poll(1);
  auto const again = s.enlist(0, 999);
  EXPECT_EQ(s.code_of(again), code::aborted);
  EXPECT_EQ(s.fault_of(again).source, 0u);
  EXPECT_EQ(s.code_of(poll), code::aborted);
  EXPECT_EQ(s.state_of(0), agent_state::error);
  EXPECT_EQ(s.code_of(s.beat(0)), code::aborted);
}

TEST(registration, of_a_task_in_error_is_aborted_until_it_is_reset) {
  scene s({.tasks = 1, .spec = {.renew = false}});
  s.enlist(0);
  s.report(0, static_cast<code>(15), "disk");
  auto const again = s.enlist(0);
  EXPECT_EQ(s.code_of(again), code::aborted);
  EXPECT_NE(s.message_of(again).find("disk"), std::string::npos);
  EXPECT_EQ(s.code_of(s.reset(0)), code::ok);
  EXPECT_EQ(s.code_of(s.enlist(0)), code::ok);
}

TEST(registration, restart_during_the_wait_replaces_the_first_call) {
  scene s;
  auto const old = s.enlist(0, 1);
  auto const young = s.enlist(0, 2);
  EXPECT_EQ(s.code_of(old), code::already_exists);
  EXPECT_TRUE(s.fault_of(old).coordination);
  EXPECT_TRUE(s.parked(young));
  s.enlist(1);
  EXPECT_EQ(s.code_of(young), code::ok);
  EXPECT_EQ(s.code_of(s.beat(0, 2)), code::ok);
  EXPECT_EQ(s.code_of(s.beat(0, 1)), code::aborted);
}

TEST(registration, old_heartbeat_during_registration_is_harmless) {
  scene s({.spec = {.recoverable = true}});
  s.enlist(0, 1);
  EXPECT_EQ(s.code_of(s.beat(0, 1)), code::invalid_argument);
  auto const young = s.enlist(0, 2);
  s.enlist(1);
  EXPECT_EQ(s.code_of(young), code::ok);
  EXPECT_EQ(s.code_of(s.beat(0, 1)), code::ok);
  EXPECT_EQ(s.code_of(s.enlist(0, 3)), code::ok);
}

TEST(registration, timeout_fails_all_and_names_missing_tasks) {
  scene s({.tasks = 3, .spec = {.register_timeout = 10s}});
  auto const a = s.enlist(0);
  s.advance(4s);
  auto const b = s.enlist(1);
  s.advance(7s);
  EXPECT_EQ(s.code_of(a), code::deadline_exceeded);
  EXPECT_EQ(s.code_of(b), code::deadline_exceeded);
  EXPECT_NE(s.message_of(a).find("Missing 1: /job:worker/task:2"), std::string::npos)
      << s.message_of(a);
  for (task_index t = 0; t < 3; ++t) EXPECT_EQ(s.state_of(t), agent_state::error);
  EXPECT_EQ(s.generation().state, generation_state::failed);
}

TEST(registration, without_a_barrier_answers_at_once) {
  scene s({.tasks = 2, .spec = {.register_barrier = false}});
  EXPECT_EQ(s.code_of(s.enlist(0)), code::ok);
  EXPECT_EQ(s.generation().state, generation_state::running);
}

TEST(registration, abandoned_registration_gives_the_next_its_full_timeout) {
  scene s({.tasks = 2, .spec = {.register_timeout = 10s}});
  auto const a = s.enlist(0);
  s.advance(9s);
  s.gone(a);
  s.advance(1h);
  auto const b = s.enlist(1);
  s.advance(9s);
  EXPECT_TRUE(s.parked(b));
  auto const again = s.enlist(0, 77);
  EXPECT_EQ(s.code_of(b), code::ok);
  EXPECT_EQ(s.code_of(again), code::ok);
}

TEST(registration, waits_for_a_disconnected_caller_to_return) {
  scene s;
  auto const a = s.enlist(0);
  s.gone(a);
  EXPECT_EQ(s.agent(0).health, agent_health::missing);
  auto const b = s.enlist(1);
  EXPECT_TRUE(s.parked(b));
  s.enlist(0, 5);
  EXPECT_EQ(s.code_of(b), code::ok);
}

TEST(registration, incarnation_zero_is_valid) {
  scene s;
  auto const register_zero = [&](task_index t) {
    return s.ask(register_task{.from = {}, .task = s.ref(t), .incarnation = {}, .peer = {}});
  };
  auto const a = register_zero(0);
  EXPECT_EQ(s.agent(0).health, agent_health::registering);
  auto const b = register_zero(1);
  EXPECT_EQ(s.code_of(a), code::ok);
  EXPECT_EQ(s.code_of(b), code::ok);
  EXPECT_EQ(s.agent(0).health, agent_health::connected);
}

TEST(registration, by_jobs_counts_ids_within_each) {
  cluster_spec spec;
  spec.jobs = {{"chief", 1, false}, {"worker", 2, false}};
  EXPECT_EQ(spec.find("chief", 0), 0u);
  EXPECT_EQ(spec.find("worker", 1), 2u);
  EXPECT_EQ(spec.find("worker", 2), no_task);
  EXPECT_EQ(spec.find("worker", -1), no_task);
  EXPECT_EQ(spec.find("", 2), 2u);
  EXPECT_EQ(spec.find("jax_worker", 2), 2u);
  EXPECT_EQ(spec.find("ps", 0), no_task);
  EXPECT_EQ(spec.find("", std::numeric_limits<std::int64_t>::max()), no_task);
  EXPECT_EQ(spec.task_name(2), "/job:worker/task:1");
}

TEST(registration, replayed_after_a_reset_leaves_no_trace_of_waiting) {
  scene s({.tasks = 2, .spec = {.register_timeout = 1s, .renew = false}});
  s.enlist(0);
  s.advance(2s);
  s.reset(0);
  EXPECT_EQ(s.code_of(s.enlist(0)), code::deadline_exceeded);
  EXPECT_EQ(s.agent(0).health, agent_health::missing);
}

}  // namespace
}  // namespace muster::core::coordination
