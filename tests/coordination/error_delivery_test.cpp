// With delivery by heartbeat, agents do not poll and survive a server restart.
#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

struct delivery_by_heartbeat : testing::Test {
  scene s{{.tasks = 3, .spec = {.errors = error_delivery::heartbeat}}};
  void SetUp() override { s.enlist_all(); }
  void close(task_index t, std::uint64_t incarnation) {
    s.all.step(s.now(), connection_closed{s.id, t, core::incarnation{incarnation}});
  }
};

TEST_F(delivery_by_heartbeat, a_poll_is_cancelled_at_once) {
  auto const p = s.poll(0);
  EXPECT_EQ(s.code_of(p), code::cancelled);
  EXPECT_TRUE(s.fault_of(p).coordination) << "it is an answer and not a broken connection";
  EXPECT_EQ(s.current().parked_calls(), 0u);
}

TEST_F(delivery_by_heartbeat, error_is_returned_by_every_tasks_next_heartbeat) {
  s.poll(0);
  s.report(1, code::internal, "its GPU fell off");
  auto const first = s.beat(0), third = s.beat(2);
  for (auto const call : {first, third}) {
    EXPECT_EQ(s.code_of(call), code::aborted);
    EXPECT_EQ(s.fault_of(call).source, 1u);
    EXPECT_NE(s.message_of(call).find("its GPU fell off"), std::string::npos) << s.message_of(call);
    EXPECT_EQ(s.message_of(call).find("does not poll"), std::string::npos) << s.message_of(call);
  }
  EXPECT_EQ(s.state_of(0), agent_state::connected) << "it is not an error of its own";
  EXPECT_EQ(s.code_of(s.poll(2)), code::internal) << "a poll receives it too";
}

TEST_F(delivery_by_heartbeat, error_is_delivered_after_a_restart) {
  s.report(1, code::internal, "its GPU fell off");
  s.restart();
  EXPECT_EQ(s.code_of(s.beat(0)), code::aborted);
  EXPECT_NE(s.message_of(s.beat(2)).find("its GPU fell off"), std::string::npos);
}

TEST_F(delivery_by_heartbeat, task_survives_a_server_restart) {
  s.poll(0);
  s.restart();
  s.advance(90s);
  for (task_index t = 0; t < 3; ++t) EXPECT_EQ(s.code_of(s.beat(t)), code::ok);
  s.advance(99s);
  EXPECT_EQ(s.state_of(0), agent_state::connected);
}

TEST_F(delivery_by_heartbeat, a_closed_connection_and_silence_is_a_dead_process) {
  close(1, 101);
  s.advance(2'999ms);
  EXPECT_EQ(s.state_of(1), agent_state::connected);
  s.advance(1ms);
  EXPECT_EQ(s.state_of(1), agent_state::error);
  EXPECT_NE(s.message_of(s.beat(0)).find("were closed"), std::string::npos);
}

TEST_F(delivery_by_heartbeat, a_closed_connection_of_an_earlier_process_counts_for_nothing) {
  close(1, 99);
  close(7, 101);
  s.advance(50s);
  EXPECT_EQ(s.state_of(1), agent_state::connected);
}

TEST_F(delivery_by_heartbeat, heartbeat_on_a_new_connection_keeps_the_task_connected) {
  close(1, 101);
  s.advance(1s);
  EXPECT_EQ(s.code_of(s.beat(1)), code::ok);
  s.advance(50s);
  EXPECT_EQ(s.state_of(1), agent_state::connected);
}

TEST(delivery_by_poll, closed_connection_is_ignored) {
  scene s({.tasks = 2});
  s.enlist_all();
  s.all.step(s.now(), connection_closed{s.id, 1, core::incarnation{101}});
  s.advance(50s);
  EXPECT_EQ(s.state_of(1), agent_state::connected);
}

TEST(error_delivery, auto_uses_heartbeats_if_the_server_outlives_its_process) {
  for (bool const outlives : {false, true}) {
    scene s({.tasks = 2, .limits = {.outlives = outlives}});
    s.enlist_all();
    EXPECT_EQ(s.parked(s.poll(0)), !outlives);
    EXPECT_EQ(s.current().tells_by_heartbeat(), outlives);
  }
  scene s({.tasks = 2, .spec = {.errors = error_delivery::poll}, .limits = {.outlives = true}});
  s.enlist_all();
  EXPECT_TRUE(s.parked(s.poll(0)));
}

TEST(error_delivery, has_names) {
  for (auto const d : {error_delivery::automatic, error_delivery::poll, error_delivery::heartbeat})
    EXPECT_EQ(enumerator_named<coordination::error_delivery>(name(d)), d);
  EXPECT_EQ(name(error_delivery::automatic), "auto");
  EXPECT_FALSE(enumerator_named<coordination::error_delivery>("pigeon"));
}

}  // namespace
}  // namespace muster::core::coordination
