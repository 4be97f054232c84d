// A closed connection reports a dead process within seconds; heartbeats report all other failures.
#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

struct closed_connection : testing::Test {
  scene s{{.tasks = 3}};
  call_id first{}, second{};

  void SetUp() override {
    s.enlist_all();
    first = s.poll(0);
    second = s.poll(1);
  }
};

TEST_F(closed_connection, of_a_polling_task_is_an_error_after_the_grace) {
  s.advance(40s);
  s.beat_all();
  s.gone(second);
  s.advance(2'999ms);
  EXPECT_TRUE(s.parked(first));
  EXPECT_EQ(s.state_of(1), agent_state::connected);
  s.advance(1ms);
  EXPECT_EQ(s.code_of(first), code::unavailable);
  EXPECT_NE(s.message_of(first).find("/job:worker/task:1 (10.0.0.1:4711"), std::string::npos)
      << s.message_of(first);
  EXPECT_NE(s.message_of(first).find("were closed"), std::string::npos);
  EXPECT_EQ(s.state_of(1), agent_state::error);
  EXPECT_EQ(s.state_of(0), agent_state::connected);
}

TEST_F(closed_connection, heartbeat_after_the_close_keeps_the_task_connected) {
  s.gone(second);
  s.advance(1s);
  s.beat(1);
  s.advance(50s);
  EXPECT_TRUE(s.parked(first));
  EXPECT_EQ(s.state_of(1), agent_state::connected);
}

TEST_F(closed_connection, heartbeat_in_flight_is_not_a_sign_of_life) {
  s.gone(second);
  s.advance(100ms);
  s.beat(1);
  s.advance(3s);
  EXPECT_EQ(s.code_of(first), code::unavailable);
}

TEST_F(closed_connection, a_new_poll_is_a_sign_of_life_at_once) {
  s.gone(second);
  auto const again = s.poll(1);
  s.advance(50s);
  EXPECT_TRUE(s.parked(first));
  EXPECT_TRUE(s.parked(again));
  s.gone(again);
  s.advance(3s);
  EXPECT_EQ(s.code_of(first), code::unavailable);
}

TEST_F(closed_connection, second_close_restarts_the_grace_period) {
  s.gone(second);
  s.advance(2s);
  s.gone(s.poll(1));
  s.advance(2s);
  EXPECT_EQ(s.state_of(1), agent_state::connected);
  s.advance(1s);
  EXPECT_EQ(s.state_of(1), agent_state::error);
}

TEST_F(closed_connection, without_a_poll_only_heartbeats_count) {
  auto const wait = s.barrier("b", 2, {.timeout = 10min});
  s.gone(wait);
  s.advance(50s);
  EXPECT_EQ(s.state_of(2), agent_state::connected);
}

TEST_F(closed_connection, of_a_task_that_has_left_is_ignored) {
  s.gone(second);
  s.reset(1);
  s.advance(10s);
  EXPECT_TRUE(s.parked(first));
  EXPECT_EQ(s.state_of(1), agent_state::disconnected);
}

TEST_F(closed_connection, simultaneous_deaths_give_one_error) {
  auto const third = s.poll(2);
  s.gone(second);
  s.advance(50ms);
  s.gone(third);
  s.advance(3s);
  auto const text = s.message_of(first);
  EXPECT_NE(text.find("task:1"), std::string::npos) << text;
  EXPECT_NE(text.find("task:2"), std::string::npos) << text;
}

TEST_F(closed_connection, stall_of_the_server_restarts_the_grace_period) {
  s.gone(second);
  s.stall(30s);
  s.tick();
  EXPECT_EQ(s.state_of(1), agent_state::connected);
  s.advance(3s);
  EXPECT_EQ(s.state_of(1), agent_state::error);
}

TEST(connection_grace, of_zero_uses_only_heartbeats) {
  scene s({.tasks = 2, .spec = {.connection_grace = 0s}});
  s.enlist_all();
  s.poll(0);
  s.gone(s.poll(1));
  s.advance(60s);
  EXPECT_EQ(s.state_of(1), agent_state::connected);
}

TEST(connection_grace, is_not_negative) {
  cluster_spec spec;
  spec.connection_grace = -1s;
  EXPECT_NE(validate(spec).message.find("connection_grace"), std::string::npos);
}

}  // namespace
}  // namespace muster::core::coordination
