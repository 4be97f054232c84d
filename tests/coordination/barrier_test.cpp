#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

scene ready(std::uint32_t tasks = 3) {
  return scene({.tasks = tasks});
}

struct barrier_rules : testing::Test {
  barrier_rules() { s.enlist_all(); }
  scene s{{.tasks = 3}};
  std::int64_t counter_of(call_id c) { return std::get<std::int64_t>(s.reply_to(c).body); }
};

TEST_F(barrier_rules, pass_for_all_when_the_last_task_arrives) {
  auto const a = s.barrier("b", 0), b = s.barrier("b", 1);
  EXPECT_TRUE(s.parked(a) && s.parked(b));
  auto const c = s.barrier("b", 2);
  for (auto const call : {a, b, c}) {
    EXPECT_EQ(s.code_of(call), code::ok);
    EXPECT_EQ(counter_of(call), 0);
  }
}

TEST_F(barrier_rules, of_a_subset_wait_only_for_that_subset) {
  auto const a = s.barrier("b", 0, {.who = {0, 2}});
  auto const c = s.barrier("b", 2, {.who = {2, 0, 2}});
  EXPECT_EQ(s.code_of(a), code::ok);
  EXPECT_EQ(s.code_of(c), code::ok);
}

TEST_F(barrier_rules, explicit_and_implicit_full_sets_are_the_same) {
  auto const a = s.barrier("b", 0, {.who = {0, 1, 2}});
  auto const b = s.barrier("b", 1);
  auto const c = s.barrier("b", 2, {.who = {2, 1, 0}});
  for (auto const call : {a, b, c}) EXPECT_EQ(s.code_of(call), code::ok);
}

TEST_F(barrier_rules, with_different_participants_fail_for_both) {
  auto const a = s.barrier("b", 0, {.who = {0, 1}});
  auto const b = s.barrier("b", 1, {.who = {1, 2}});
  EXPECT_EQ(s.code_of(a), code::invalid_argument);
  EXPECT_EQ(s.code_of(b), code::invalid_argument);
  EXPECT_EQ(s.fault_of(a).barrier, (barrier_instance{"b", 0}));
}

TEST_F(barrier_rules, called_by_a_non_participant_fail) {
  auto const a = s.barrier("b", 0, {.who = {0, 1}});
  auto const c = s.barrier("b", 2, {.who = {0, 1}});
  EXPECT_EQ(s.code_of(a), code::invalid_argument);
  EXPECT_EQ(s.code_of(c), code::invalid_argument);
  EXPECT_EQ(s.code_of(s.barrier("b", 1, {.who = {0, 1}})), code::invalid_argument) << "replayed";
}

TEST_F(barrier_rules, with_a_participant_or_caller_outside_of_the_cluster_fail) {
  auto const a = s.barrier("b", 0, {.who = {0, 9}});
  EXPECT_EQ(s.code_of(a), code::invalid_argument);
  EXPECT_NE(s.message_of(a).find("task:9"), std::string::npos);
  auto const waiting = s.barrier("c", 0);
  EXPECT_EQ(s.code_of(s.barrier("c", 9)), code::invalid_argument);
  EXPECT_EQ(s.code_of(waiting), code::invalid_argument);
  EXPECT_EQ(s.code_of(s.barrier("d", 0, {.who = {8, 9}})), code::invalid_argument);
}

TEST_F(barrier_rules, late_tasks_get_the_same_timeout_error) {
  auto const a = s.barrier("b", 0, {.timeout = 5s});
  s.advance(4s);
  auto const b = s.barrier("b", 1, {.timeout = 500s});
  s.advance(1s);
  for (auto const call : {a, b}) {
    EXPECT_EQ(s.code_of(call), code::deadline_exceeded);
    EXPECT_EQ(s.fault_of(call).barrier, (barrier_instance{"b", 0}));
    EXPECT_NE(s.message_of(call).find("Missing 1: /job:worker/task:2 (10.0.0.2:4711"),
              std::string::npos);
    EXPECT_NE(s.message_of(call).find("2/3"), std::string::npos);
    EXPECT_NE(s.message_of(call).find("first task at the barrier: /job:worker/task:0"),
              std::string::npos);
  }
  auto const straggler = s.barrier("b", 2);
  EXPECT_EQ(s.code_of(straggler), code::deadline_exceeded);
  EXPECT_EQ(s.message_of(straggler), s.message_of(a));
  auto const other = s.barrier("another", 2);
  EXPECT_TRUE(s.parked(other));
}

TEST_F(barrier_rules, with_a_zero_timeout_time_out_at_the_next_tick) {
  auto const a = s.barrier("b", 0, {.timeout = 0s});
  s.advance(0s);
  EXPECT_EQ(s.code_of(a), code::deadline_exceeded);
}

TEST_F(barrier_rules, of_the_same_id_are_counted) {
  for (std::int64_t round = 0; round < 3; ++round) {
    s.barrier("b", 0, {.counter = round}), s.barrier("b", 1, {.counter = round});
    EXPECT_EQ(counter_of(s.barrier("b", 2, {.counter = round})), round);
  }
}

TEST_F(barrier_rules, failed_barriers_are_counted_too) {
  s.barrier("b", 0, {.timeout = 1s});
  s.advance(1s);
  auto const a = s.barrier("b", 0, {.counter = 1});
  s.barrier("b", 1, {.counter = 1}), s.barrier("b", 2, {.counter = 1});
  EXPECT_EQ(counter_of(a), 1);
}

TEST_F(barrier_rules, with_a_foreign_counter_fail_as_a_whole) {
  auto const a = s.barrier("b", 0);
  auto const b = s.barrier("b", 1, {.counter = 1});
  EXPECT_EQ(s.code_of(a), code::internal);
  EXPECT_EQ(s.code_of(b), code::internal);
  EXPECT_NE(s.message_of(b).find("too quick or way too slow"), std::string::npos);
  auto const c = s.barrier("c", 0, {.counter = 3});
  EXPECT_EQ(s.code_of(c), code::internal);
  EXPECT_EQ(s.fault_of(c).barrier, (barrier_instance{"c", 0}));
}

TEST_F(barrier_rules, counter_of_a_restarted_task_is_reported_in_the_error) {
  for (task_index t = 0; t < 3; ++t) s.barrier("b", t);
  auto const a = s.barrier("b", 0, {.counter = 1});
  auto const restarted = s.barrier("b", 1, {.counter = 0});
  EXPECT_EQ(s.code_of(restarted), code::internal);
  EXPECT_NE(s.message_of(restarted).find("restarted"), std::string::npos);
  EXPECT_EQ(s.code_of(a), code::internal);
}

TEST_F(barrier_rules, passed_barrier_answers_late_tasks_at_once) {
  for (task_index t = 0; t < 3; ++t) s.barrier("b", t);
  EXPECT_EQ(s.code_of(s.barrier("b", 1)), code::ok);
}

TEST_F(barrier_rules, a_younger_call_of_a_task_replaces_the_older) {
  auto const old = s.barrier("b", 0);
  auto const young = s.barrier("b", 0);
  EXPECT_EQ(s.code_of(old), code::cancelled);
  EXPECT_FALSE(s.fault_of(old).coordination);
  s.barrier("b", 1);
  EXPECT_TRUE(s.parked(young));
  s.barrier("b", 2);
  EXPECT_EQ(s.code_of(young), code::ok);
}

TEST_F(barrier_rules, fail_when_a_participant_is_in_error_before_or_after) {
  auto const before = s.barrier("b", 1);
  auto const apart = s.barrier("c", 1, {.who = {1, 2}});
  s.poll(1);
  s.report(0, code::unavailable, "nvlink");
  EXPECT_EQ(s.code_of(before), code::internal);
  EXPECT_NE(s.message_of(before).find("nvlink"), std::string::npos);
  EXPECT_EQ(s.fault_of(before).barrier, (barrier_instance{"b", 0}));
  EXPECT_TRUE(s.parked(apart));
  auto const after = s.barrier("d", 1);
  EXPECT_EQ(s.code_of(after), code::internal);
  EXPECT_EQ(s.fault_of(after).barrier, (barrier_instance{"d", 0}));
}

TEST_F(barrier_rules, barrier_fails_when_a_participant_dies_leaves_or_resets) {
  auto const reset = s.barrier("r", 1);
  s.reset(0);
  EXPECT_EQ(s.code_of(reset), code::internal);
  EXPECT_NE(s.message_of(reset).find("has left"), std::string::npos);
  auto const stale = s.barrier("s", 1, {.who = {1, 2}, .timeout = 1h});
  s.advance(60s);
  s.beat(1);
  s.advance(40s);
  EXPECT_EQ(s.code_of(stale), code::internal);
  EXPECT_NE(s.message_of(stale).find("heartbeat timeout"), std::string::npos);
}

TEST_F(barrier_rules, can_be_cancelled_by_their_number) {
  auto const a = s.barrier("b", 0);
  EXPECT_EQ(s.code_of(s.cancel("b", 1)), code::failed_precondition);
  EXPECT_EQ(s.code_of(s.cancel("b", 0)), code::ok);
  EXPECT_EQ(s.code_of(a), code::cancelled);
  EXPECT_EQ(s.fault_of(a).barrier, (barrier_instance{"b", 0}));
  EXPECT_EQ(s.code_of(s.cancel("b", 0)), code::failed_precondition);
  EXPECT_EQ(s.code_of(s.barrier("b", 1)), code::cancelled) << "replayed";
}

TEST_F(barrier_rules, passed_barriers_cannot_be_cancelled) {
  for (task_index t = 0; t < 3; ++t) s.barrier("b", t);
  auto const c = s.cancel("b", 0);
  EXPECT_EQ(s.code_of(c), code::failed_precondition);
  EXPECT_NE(s.message_of(c).find("already been passed with status code: OK"), std::string::npos);
}

TEST_F(barrier_rules, unknown_barriers_are_created_cancelled_except_by_operators) {
  EXPECT_EQ(s.code_of(s.cancel("x", std::nullopt)), code::not_found);
  EXPECT_EQ(s.code_of(s.cancel("x", 0)), code::ok);
  EXPECT_EQ(s.code_of(s.barrier("x", 0)), code::cancelled);
}

TEST_F(barrier_rules, end_with_aborted_when_the_service_stops) {
  auto const a = s.barrier("b", 0);
  auto const poll = s.poll(1);
  auto const leaving = s.leave(2);
  s.stop();
  EXPECT_EQ(s.code_of(a), code::aborted);
  EXPECT_EQ(s.code_of(leaving), code::internal);
  EXPECT_EQ(s.code_of(poll), code::cancelled) << "a broken barrier is not logged twice";
  EXPECT_NE(s.generation().state, generation_state::failed);
}

TEST_F(barrier_rules, wait_for_disconnected_callers_to_return) {
  auto const a = s.barrier("b", 0);
  s.barrier("b", 1);
  s.gone(a);
  auto const c = s.barrier("b", 2);
  EXPECT_TRUE(s.parked(c));
  s.barrier("b", 0);
  EXPECT_EQ(s.code_of(c), code::ok);
}

TEST_F(barrier_rules, internal_barriers_are_closed_to_callers) {
  EXPECT_EQ(s.code_of(s.barrier("[Init]Wait_for_all_tasks_to_register", 0)),
            code::invalid_argument);
  auto const shutdown = "Shutdown::" + std::to_string(raw(s.incarnation()));
  EXPECT_EQ(s.code_of(s.barrier(shutdown, 0)), code::invalid_argument);
  EXPECT_EQ(s.code_of(s.cancel(shutdown)), code::failed_precondition);
  for (task_index t = 0; t < 2; ++t) s.leave(t);
  EXPECT_EQ(s.code_of(s.leave(2)), code::ok);
}

TEST(barrier, needs_no_registration) {
  auto s = ready(2);
  auto const a = s.barrier("b", 0);
  s.barrier("b", 1);
  EXPECT_EQ(s.code_of(a), code::ok);
}

TEST(barrier, counter_of_an_evicted_barrier_is_trusted) {
  scene s({.tasks = 1, .limits = {.finished_barriers_max = 2}});
  s.enlist(0);
  for (int i = 0; i < 5; ++i) s.barrier("b" + std::to_string(i), 0);
  EXPECT_EQ(s.generation().barriers_remembered, 2u);
  EXPECT_EQ(s.code_of(s.barrier("b0", 0, {.counter = 1})), code::ok);
  EXPECT_EQ(s.code_of(s.barrier("b0", 0, {.counter = 2})), code::ok);
}

TEST(barrier, many_simultaneous_failures_are_summarised) {
  scene s({.tasks = 2});
  s.enlist_all();
  for (int i = 0; i < 50; ++i) s.barrier("b" + std::to_string(i), 0);
  s.report(1, code::internal, "x");
  EXPECT_EQ(s.log_events(log_event_kind::barrier_failed).size(), 20u);
  EXPECT_EQ(s.log_events(log_event_kind::barriers_failed).size(), 1u);
}

TEST(barrier, many_sets_of_participants_are_distinguished) {
  scene s({.tasks = 10});
  s.enlist_all();
  for (int round = 0; round < 3; ++round)
    for (task_index a = 0; a < 10; ++a)
      for (task_index b = a + 1; b < 10; ++b) {
        auto const id = std::to_string(round) + "/" + std::to_string(a) + std::to_string(b);
        auto const first = s.barrier(id, a, {.who = {a, b}});
        EXPECT_EQ(s.code_of(s.barrier(id, b, {.who = {a, b}})), code::ok);
        EXPECT_EQ(s.code_of(first), code::ok);
      }
}

TEST(barrier, exchanges_devices_once_in_order_of_jobs_and_tasks) {
  cluster_spec spec;
  spec.jobs = {{"worker", 2, false}, {"chief", 1, false}};
  scene s({.spec = spec});
  auto const w1 = s.devices(1, {"w1"});
  auto const w0 = s.devices(0, {"w0a", "w0b"});
  auto const chief = s.devices(2, {"c"});
  for (auto const call : {w0, w1, chief, s.devices(0, {"again"})}) {
    ASSERT_EQ(s.code_of(call), code::ok);
    auto const& all = *std::get<std::shared_ptr<std::vector<blob> const>>(s.reply_to(call).body);
    std::vector<std::string_view> names;
    for (auto const& d : all) names.push_back(d.view());
    EXPECT_EQ(names, (std::vector<std::string_view>{"c", "w0a", "w0b", "w1"}));
  }
}

}  // namespace
}  // namespace muster::core::coordination
