#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

TEST(heartbeat, echoes_the_incarnation_of_the_service) {
  scene s;
  s.enlist_all();
  auto const beat = s.beat(1);
  EXPECT_EQ(std::get<incarnation>(s.reply_to(beat).body), s.incarnation());
}

TEST(heartbeat, of_an_unknown_task_is_invalid) {
  scene s;
  EXPECT_EQ(s.code_of(s.beat(9)), code::invalid_argument);
}

TEST(heartbeat, before_registration_is_invalid) {
  scene s;
  EXPECT_EQ(s.code_of(s.beat(0)), code::invalid_argument);
}

TEST(heartbeat, of_a_wrong_incarnation_puts_the_task_in_error) {
  scene s;
  s.enlist_all();
  auto const poll = s.poll(1);
  EXPECT_EQ(s.code_of(s.beat(0, 12345)), code::aborted);
  EXPECT_EQ(s.code_of(poll), code::aborted);
  EXPECT_EQ(s.state_of(0), agent_state::error);
}

TEST(heartbeat, missing_heartbeats_fail_the_task_after_the_timeout) {
  scene s;
  s.enlist_all();
  auto const poll = s.poll(1);
  s.advance(60s);
  s.beat(1);
  s.advance(39s);
  EXPECT_TRUE(s.parked(poll));
  s.advance(1s);
  EXPECT_EQ(s.code_of(poll), code::unavailable);
  EXPECT_NE(s.message_of(poll).find("/job:worker/task:0 (10.0.0.0:4711, last contact 100.0 s ago"),
            std::string::npos)
      << s.message_of(poll);
  EXPECT_EQ(s.message_of(poll).find("task:1"), std::string::npos) << s.message_of(poll);
  EXPECT_EQ(s.state_of(0), agent_state::error);
  EXPECT_EQ(s.state_of(1), agent_state::connected);
  EXPECT_EQ(s.code_of(s.beat(0)), code::aborted);
}

// Some of these calls name the task, others only the process.
TEST(heartbeat, other_calls_of_a_task_replace_it) {
  scene s;
  s.enlist_all();
  auto const poll = s.poll(1);
  for (int i = 0; i < 6; ++i) {
    s.advance(60s);
    s.beat(1);
    if (i % 2 == 0)
      s.barrier("b" + std::to_string(i), 0, {.timeout = 3'000s});
    else
      s.ask(insert_key_value{{.process = core::incarnation{100}}, "k", blob("v"), true});
  }
  EXPECT_TRUE(s.parked(poll));
  s.advance(100s);
  EXPECT_EQ(s.code_of(poll), code::unavailable);
}

TEST(heartbeat, of_a_task_is_not_replaced_by_calls_of_an_earlier_process) {
  scene s({.spec = {.recoverable = true}});
  s.enlist_all();
  s.enlist(0, 500);
  for (int i = 0; i < 4; ++i) {
    s.advance(25s);
    s.beat(1);
    s.beat(0, 100);
    s.ask(insert_key_value{{.process = core::incarnation{100}}, "k", blob("v"), true});
  }
  EXPECT_EQ(s.state_of(0), agent_state::error);
}

TEST(heartbeat, missing_names_the_timeout_and_the_interval_of_the_task) {
  scene s({.spec = {.heartbeat_timeout = 4s}});
  s.enlist_all();
  auto const poll = s.poll(1);
  s.advance(3s);
  s.beat_all();
  s.advance(3500ms);
  s.beat_all();
  s.advance(3s);
  s.beat(1);
  s.advance(1s);
  EXPECT_NE(s.message_of(poll).find("The cluster's heartbeat_timeout is 4.0 s; "
                                    "/job:worker/task:0 sent a heartbeat every 3.5 s."),
            std::string::npos)
      << s.message_of(poll);
  s.advance(4s);
  EXPECT_NE(s.states_of(s.watch(-1))->tasks.at(1).error->message.find("sent a heartbeat every"),
            std::string::npos);
}

TEST(heartbeat, task_that_never_sent_one_is_reported_as_such) {
  scene s({.tasks = 1, .spec = {.heartbeat_timeout = 4s}});
  s.enlist(0);
  s.advance(4s);
  EXPECT_NE(s.states_of(s.watch(-1))
                ->tasks.at(0)
                .error->message.find("The cluster's heartbeat_timeout is 4.0 s; /job:worker/task:0 "
                                     "has sent no heartbeat."),
            std::string::npos);
}

TEST(heartbeat, is_accepted_for_a_while_after_leaving) {
  scene s({.tasks = 1, .spec = {.renew = false}});
  s.enlist(0);
  s.leave(0);
  s.advance(99s);
  EXPECT_EQ(s.code_of(s.beat(0)), code::ok);
  s.advance(2s);
  EXPECT_EQ(s.code_of(s.beat(0)), code::invalid_argument);
}

TEST(heartbeat, is_accepted_for_a_while_after_a_reset) {
  scene s;
  s.enlist_all();
  s.reset(0);
  EXPECT_EQ(s.code_of(s.beat(0)), code::ok);
  s.beat(1);
  s.advance(90s);
  s.beat(1);
  s.advance(11s);
  EXPECT_EQ(s.code_of(s.beat(0)), code::invalid_argument);
}

TEST(heartbeat, delay_caused_by_a_stall_of_the_service_is_forgiven) {
  scene s;
  s.enlist_all();
  auto const poll = s.poll(0);
  s.stall(130s);
  s.tick();
  EXPECT_TRUE(s.parked(poll));
  s.advance(49s);
  EXPECT_TRUE(s.parked(poll))
      << "agents send heartbeats at half the timeout: one heartbeat must arrive";
  s.beat_all();
  s.advance(101s);
  EXPECT_EQ(s.code_of(poll), code::unavailable) << "silence after the stall counts";
}

TEST(heartbeat, simultaneous_losses_are_one_error) {
  scene s({.tasks = 50});
  s.enlist_all();
  auto const poll = s.poll(0);
  s.advance(60s);
  s.beat(0);
  s.advance(41s);
  EXPECT_EQ(s.code_of(poll), code::unavailable);
  EXPECT_NE(s.message_of(poll).find("and 29 more"), std::string::npos) << s.message_of(poll);
  for (task_index t = 1; t < 50; ++t) {
    EXPECT_EQ(s.agent(t).health, agent_health::error);
    EXPECT_FALSE(s.agent(t).casualty) << t;
  }
}

TEST(heartbeat, overdue_task_is_shown_as_late_before_it_fails) {
  scene s;
  s.enlist_all();
  s.advance(80s);
  EXPECT_EQ(s.agent(0).health, agent_health::late);
  EXPECT_EQ(s.generation().by_health[static_cast<int>(agent_health::late)], 2u);
  s.beat(0);
  EXPECT_EQ(s.agent(0).health, agent_health::connected);
}

}  // namespace
}  // namespace muster::core::coordination
