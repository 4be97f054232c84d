// JAX processes wait for a single key all their life and do not repeat a lost wait.
#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

constexpr auto notice = "RECEIVED_PREEMPTION_NOTICE";
constexpr auto deaf_of_one =
    "/job:worker/task:1 no longer receives preemption notices, because the connection or the "
    "earlier server on which JAX was waiting is gone. JAX does not start a new wait by itself; "
    "call "
    "muster.jax.renew_preemption_sync() in each of these tasks";

struct notices : testing::Test {
  scene s{{.tasks = 3}};

  notices() { s.enlist_all(); }

  call_id listen(task_index t) {
    return s.ask(get_key_value{{}, notice, true, core::incarnation{100 + t}, {}});
  }
  void listen_all() {
    for (task_index t = 0; t < 3; ++t) listen(t);
  }
  std::vector<std::string> told() const {
    std::vector<std::string> all;
    for (auto const& r : s.log_events(log_event_kind::notice_unheard)) all.push_back(r.text);
    return all;
  }
  std::vector<std::string> unheard() const { return s.current().unreachable_by_notices().first; }
};
using texts = std::vector<std::string>;

TEST_F(notices, task_that_lost_its_wait_is_reported_once) {
  listen(0);
  auto const wait = listen(1);
  s.gone(wait);
  EXPECT_TRUE(unheard().empty()) << "it can be leaving";
  s.beat(1);
  EXPECT_EQ(unheard(), texts{"/job:worker/task:1"});
  EXPECT_TRUE(told().empty()) << "more can follow";
  s.advance(notice_waits::together);
  EXPECT_EQ(told(), texts{deaf_of_one});
  s.beat(1);
  s.advance(notice_waits::together);
  EXPECT_EQ(told().size(), 1u) << "once";
}

TEST_F(notices, restart_loses_every_wait_and_logs_live_tasks_in_one_line) {
  listen_all();
  s.restart();
  EXPECT_TRUE(unheard().empty()) << "no task has reported yet";
  s.beat_all();
  EXPECT_EQ(s.current().unreachable_by_notices().count, 3u);
  s.advance(notice_waits::together);
  ASSERT_EQ(told().size(), 1u);
  EXPECT_TRUE(told()[0].starts_with("/job:worker/task:0-2 no longer receive preemption notices"))
      << told()[0];
}

TEST_F(notices, repeated_wait_restores_delivery) {
  s.gone(listen(1));
  s.beat(1);
  listen(1);
  EXPECT_TRUE(unheard().empty());
  s.beat(1);
  s.advance(notice_waits::together);
  EXPECT_TRUE(told().empty());
  s.set(notice, "now");
  EXPECT_TRUE(told().empty());
}

TEST_F(notices, second_wait_of_the_same_task_replaces_the_first) {
  auto const first = listen(1);
  listen(1);
  s.gone(first);
  s.beat(1);
  EXPECT_TRUE(unheard().empty());
}

TEST_F(notices, unreachable_tasks_are_named_again_when_a_notice_is_set) {
  listen_all();
  s.gone(listen(2));
  s.restart();
  listen(0);
  s.set(notice, "now");
  ASSERT_EQ(told().size(), 1u);
  EXPECT_TRUE(
      told()[0].starts_with("a preemption notice was set, and /job:worker/task:1-2 do not "
                            "receive it"))
      << told()[0];
  EXPECT_EQ(s.log_events(log_event_kind::notice_unheard)[0].severity, severity::error);
}

TEST_F(notices, notified_task_need_not_wait_again) {
  listen_all();
  s.set(notice, "now");
  s.beat_all();
  s.restart();
  s.beat_all();
  s.advance(notice_waits::together);
  EXPECT_TRUE(unheard().empty());
  EXPECT_TRUE(told().empty());
}

TEST_F(notices, leaving_task_withdraws_its_wait) {
  s.gone(listen(1));
  s.leave(1);
  s.beat(1);
  s.advance(notice_waits::together);
  EXPECT_TRUE(told().empty());
}

TEST_F(notices, failed_task_is_not_named) {
  s.gone(listen(1));
  s.beat(1);
  s.report(1, code::internal, "broken");
  s.advance(notice_waits::together);
  EXPECT_TRUE(told().empty());
  EXPECT_TRUE(unheard().empty());
}

TEST_F(notices, waits_for_other_keys_and_by_unknown_tasks_are_ignored) {
  s.gone(s.ask(get_key_value{{}, "other", true, core::incarnation{101}, {}}));
  s.gone(s.ask(get_key_value{{}, notice, true, core::incarnation{7}, {}}));
  s.beat_all();
  s.advance(notice_waits::together);
  EXPECT_TRUE(told().empty());
}

TEST(notices_of_a_new_process, survive_the_closed_connection_of_the_previous_process) {
  cluster_spec recoverable;
  recoverable.recoverable = true;
  scene s{{.tasks = 3, .spec = recoverable}};
  s.enlist_all();
  auto const listen = [&s](std::uint64_t incarnation) {
    return s.ask(get_key_value{{}, notice, true, core::incarnation{incarnation}, {}});
  };
  auto const old = listen(101);
  s.advance(1s);
  s.enlist(1, 201);
  s.advance(1s);
  auto const its_own = listen(201);
  s.gone(old);
  s.beat(1, 201);
  EXPECT_EQ(s.current().unreachable_by_notices().count, 0u);
  s.gone(its_own);
  s.beat(1, 201);
  EXPECT_EQ(s.current().unreachable_by_notices().count, 1u);
}

// In TensorFlow's dialect only the address identifies the caller.
TEST_F(notices, task_is_identified_by_its_address_after_a_restart) {
  listen_all();
  s.restart();
  s.peer_of_caller = "10.0.0.1:7";
  s.beat(1);
  EXPECT_EQ(unheard(), texts{"/job:worker/task:1"});
  s.ask(get_key_value{{}, notice, true, {}, {}});
  EXPECT_TRUE(unheard().empty());
}

}  // namespace
}  // namespace muster::core::coordination
