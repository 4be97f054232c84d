#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

struct visitors : testing::Test {
  call_id visit(std::string id, task_index t, barrier_call b = {}) {
    return s.ask(enter_barrier{{}, std::move(id), 0, b.timeout, s.ref(t), s.refs(b.who), true},
                 b.deadline);
  }
  std::int64_t counter_of(call_id c) { return std::get<std::int64_t>(s.reply_to(c).body); }
  // Tasks 0 and 1 have agents, task 2 has none.
  visitors() {
    s.enlist(0);
    s.enlist(1);
  }
  setting loose() {
    setting all{.tasks = 3};
    all.spec.jobs = {{"worker", 3, false}};
    all.spec.register_barrier = false;
    return all;
  }
  scene s{loose()};
};

TEST_F(visitors, join_the_current_use_of_a_barrier) {
  for (std::int64_t use = 0; use < 3; ++use) {
    auto const first = visit("b", 2);
    EXPECT_TRUE(s.parked(first));
    auto const a = s.barrier("b", 0, {.counter = use}), b = s.barrier("b", 1, {.counter = use});
    for (auto const call : {first, a, b}) {
      EXPECT_EQ(s.code_of(call), code::ok);
      EXPECT_EQ(counter_of(call), use);
    }
  }
  auto const a = s.barrier("b", 0, {.counter = 3}), b = s.barrier("b", 1, {.counter = 3});
  EXPECT_EQ(counter_of(visit("b", 2)), 3);
  EXPECT_TRUE(s.code_of(a) == code::ok && s.code_of(b) == code::ok);
}

TEST_F(visitors, register_nothing) {
  visit("b", 2);
  EXPECT_EQ(s.agent(2).health, agent_health::missing);
  EXPECT_EQ(s.state_of(2), agent_state::disconnected);
}

TEST_F(visitors, leave_no_trace_if_no_task_arrives) {
  auto const gone = visit("b", 2);
  s.gone(gone);
  EXPECT_FALSE(s.current().views().barrier("b").has_value());
  auto const late = visit("b", 2, {.who = {1, 2}, .deadline = s.now() + 10s});
  s.advance(11s);
  EXPECT_EQ(s.code_of(late), code::deadline_exceeded);
  EXPECT_FALSE(s.current().views().barrier("b").has_value());
  EXPECT_EQ(s.generation().barriers_remembered, 0u);
  // A different set of participants.
  s.barrier("b", 0, {.who = {0, 1}});
  EXPECT_EQ(counter_of(s.barrier("b", 1, {.who = {0, 1}})), 0);
}

TEST_F(visitors, leaving_a_later_use_restores_the_previous_one) {
  auto const a = s.barrier("b", 0, {.timeout = 1s});
  s.advance(2s);
  EXPECT_EQ(s.code_of(a), code::deadline_exceeded);
  auto const v = visit("b", 2);
  EXPECT_EQ(s.current().views().barrier("b")->counter, 1);
  s.gone(v);
  EXPECT_EQ(s.current().views().barrier("b")->counter, 0);
  EXPECT_EQ(s.current().views().barrier("b")->state, barrier_state::failed);
  EXPECT_EQ(s.code_of(s.barrier("b", 1)), code::deadline_exceeded) << "a late task receives it";
}

TEST_F(visitors, timeout_of_a_visitor_does_not_affect_the_barrier) {
  auto const v = visit("b", 2, {.timeout = 1s});
  s.advance(50s);
  EXPECT_TRUE(s.parked(v));
  EXPECT_EQ(s.current().views().barrier("b")->deadline, never);
  s.beat(0);
  s.beat(1);
  // The first agent's timeout counts, from its arrival.
  auto const a = s.barrier("b", 0, {.timeout = 60s});
  EXPECT_EQ(s.current().views().barrier("b")->deadline, s.now() + 60s);
  s.advance(61s);
  EXPECT_EQ(s.code_of(a), code::deadline_exceeded);
  EXPECT_EQ(s.code_of(v), code::deadline_exceeded);
}

TEST_F(visitors, agents_wait_for_visitors_that_left) {
  auto const v = visit("b", 2);
  auto const a = s.barrier("b", 0), b = s.barrier("b", 1);
  auto const other = visit("c", 2, {.deadline = s.now() + 1s});
  auto const c = s.barrier("c", 0);
  EXPECT_EQ(s.code_of(v), code::ok);
  s.advance(2s);
  EXPECT_EQ(s.code_of(other), code::deadline_exceeded);
  EXPECT_TRUE(s.parked(c));
  s.barrier("c", 1);
  EXPECT_EQ(s.code_of(visit("c", 2)), code::ok);
  EXPECT_TRUE(s.code_of(a) == code::ok && s.code_of(b) == code::ok && s.code_of(c) == code::ok);
}

TEST_F(visitors, invalid_calls_do_not_affect_agents) {
  auto const a = s.barrier("b", 0, {.who = {0, 1}});
  EXPECT_EQ(s.code_of(visit("b", 2, {.who = {1, 2}})), code::invalid_argument);
  EXPECT_EQ(s.code_of(visit("b", 2, {.who = {0, 1}})), code::invalid_argument);
  EXPECT_TRUE(s.parked(a));
  EXPECT_EQ(s.code_of(visit("own", 2, {.who = {0, 1}})), code::invalid_argument);
  EXPECT_FALSE(s.current().views().barrier("own").has_value());
  EXPECT_EQ(s.code_of(s.barrier("b", 1, {.who = {0, 1}})), code::ok);
}

TEST_F(visitors, repeated_visit_counts_once) {
  auto const first = visit("b", 2);
  auto const second = visit("b", 2);
  EXPECT_EQ(s.code_of(first), code::cancelled);
  EXPECT_TRUE(s.parked(second));
  s.barrier("b", 0);
  s.barrier("b", 1);
  EXPECT_EQ(s.code_of(second), code::ok);
}

TEST_F(visitors, receive_the_error_of_a_failed_agent) {
  s.poll(1);
  auto const v = visit("b", 2);
  s.report(0, code::internal, "a bad disk");
  EXPECT_EQ(s.code_of(v), code::internal);
}

}  // namespace
}  // namespace muster::core::coordination
