// Late after 2.5 intervals (12.5 s), lost after the timeout (15 s).
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

TEST(heartbeat, a_silent_worker_is_late_after_two_and_a_half_intervals) {
  cluster c;
  c.attach();
  c.advance(12'499ms);
  EXPECT_EQ(c.state("worker", 0), task_state::connected);
  c.advance(1ms);
  EXPECT_EQ(c.state("worker", 0), task_state::late);
  EXPECT_EQ(c.task(0).since, start + 12'500ms);
}

TEST(heartbeat, a_late_worker_still_gets_work) {
  cluster c;
  auto const w = c.attach();
  c.advance(13s);
  auto const job = c.open({"f"});
  EXPECT_EQ(c.sent(w), job.closures);
  EXPECT_EQ(c.state("worker", 0), task_state::late);
}

TEST(heartbeat, any_message_makes_a_late_worker_connected_again) {
  for (int kind = 0; kind < 3; ++kind) {
    cluster c;
    auto const w = c.attach();
    auto const job = c.open({"f"});
    c.advance(13s);
    ASSERT_EQ(c.state("worker", 0), task_state::late);
    if (kind == 0) c.alive(w);
    if (kind == 1) c.succeed(w, job[0]);
    if (kind == 2) c.step(worker_drain{w, false});
    EXPECT_EQ(c.state("worker", 0), task_state::connected) << kind;
    EXPECT_EQ(c.task(0).last_seen, start + 13s);
    c.advance(12'499ms);
    EXPECT_EQ(c.state("worker", 0), task_state::connected) << kind;
  }
}

TEST(heartbeat, worker_that_sends_heartbeats_is_never_late) {
  cluster c;
  auto const w = c.attach();
  for (int i = 0; i < 20; ++i) {
    c.advance(5s);
    c.alive(w);
    EXPECT_EQ(c.state("worker", 0), task_state::connected);
  }
}

TEST(heartbeat, silence_for_the_whole_timeout_loses_the_worker_and_its_work) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.advance(14'999ms);
  EXPECT_EQ(c.state("worker", 0), task_state::late);
  c.advance(1ms);
  EXPECT_EQ(c.fx().disconnects,
            (std::vector{disconnect{
                w, {code::deadline_exceeded, "worker:0 was silent for 15000 ms"}, false}}));
  EXPECT_EQ(c.state("worker", 0), task_state::error);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  EXPECT_EQ(c.core.closures().find(job[0])->attempts.at(0).outcome,
            (attempt_outcome{attempt_end::worker_lost, "worker:0 was silent for 15000 ms"}));
}

TEST(heartbeat, workers_lost_together_do_not_receive_each_others_work) {
  cluster c;
  c.attach();
  c.attach();
  c.attach();
  auto const job = c.open({"f", "f", "f", "f"});
  c.advance(15s);
  EXPECT_EQ(c.fx().disconnects.size(), 3u);
  EXPECT_TRUE(c.fx().assignments.empty());
  EXPECT_EQ(c.job(job.id).counts.queued, 4u);
}

TEST(heartbeat, the_next_deadline_is_the_earliest_change_of_any_row) {
  cluster c;
  EXPECT_EQ(c.core.next_deadline(), never);
  auto const a = c.attach();
  EXPECT_EQ(c.core.next_deadline(), start + 12'500ms);
  c.wait(1s);
  c.attach();
  EXPECT_EQ(c.core.next_deadline(), start + 12'500ms);
  c.advance(11'500ms);
  EXPECT_EQ(c.core.next_deadline(), start + 13'500ms) << "the second is late";
  c.advance(1s);
  EXPECT_EQ(c.core.next_deadline(), start + 15s) << "the first is lost";
  c.alive(a);
  c.advance(1'500ms);
  EXPECT_EQ(c.core.next_deadline(), start + 16s) << "the second is lost";
}

TEST(heartbeat, a_parked_call_may_be_due_before_any_row) {
  cluster c;
  c.attach();
  auto const job = c.open({"g"});
  c.park(join_session{{}, job.id, start + 2s});
  EXPECT_EQ(c.core.next_deadline(), start + 2s);
}

TEST(heartbeat, a_tick_before_its_time_changes_nothing) {
  cluster c;
  c.attach();
  c.wait(5s);
  EXPECT_EQ(c.tick(), effects{});
  EXPECT_EQ(c.core.next_deadline(), start + 12'500ms);
}

TEST(heartbeat, stall_of_the_server_does_not_count_against_workers) {
  cluster c;
  c.attach();
  c.wait(60s);
  c.tick();
  EXPECT_TRUE(c.fx().disconnects.empty());
  EXPECT_EQ(c.state("worker", 0), task_state::late) << "12.5 s of them were its own";
  c.advance(2'499ms);
  EXPECT_EQ(c.state("worker", 0), task_state::late);
  c.advance(1ms);
  EXPECT_EQ(c.state("worker", 0), task_state::error);
}

TEST(heartbeat, slightly_late_tick_is_not_a_stall) {
  cluster c;
  c.attach();
  c.advance(12'500ms);
  c.wait(3'500ms - 1us);  // due after 2.5 s, 1 s of tolerance
  c.tick();
  EXPECT_EQ(c.state("worker", 0), task_state::error);
}

TEST(heartbeat, slightly_late_tick_extends_no_deadline) {
  cluster c;
  c.attach();
  c.wait(13'400ms);  // 0.9 s late
  c.tick();
  EXPECT_EQ(c.core.next_deadline(), start + 15s);
}

TEST(heartbeat, worker_that_reported_after_the_stall_gets_no_extension) {
  cluster c;
  auto const w = c.attach();
  c.wait(60s);
  c.alive(w);  // was in the socket during the stall
  c.wait(1s);
  c.tick();
  EXPECT_EQ(c.task(0).last_seen, c.now()) << "never in the future";
  EXPECT_EQ(c.core.next_deadline(), c.now() + 12'500ms);
}

TEST(heartbeat, stall_while_only_a_call_was_due_also_extends_worker_deadlines) {
  cluster c;
  c.attach();
  auto const job = c.open({"g"});
  c.park(join_session{{}, job.id, start + 1s});
  c.wait(11s);
  c.tick();  // ten seconds late
  EXPECT_EQ(c.fx().replies.size(), 1u);
  c.advance(11s);
  EXPECT_EQ(c.state("worker", 0), task_state::connected);
  c.advance(500ms);
  EXPECT_EQ(c.state("worker", 0), task_state::late);
}

TEST(heartbeat, a_dead_row_is_forgotten_after_the_retention_and_its_index_is_free) {
  for (bool const clean : {false, true}) {
    cluster c;
    auto const w = c.attach();
    c.wait(1s);
    clean ? c.leave(w) : c.lose(w);
    EXPECT_EQ(c.core.next_deadline(), start + 12'500ms);
    c.advance(10min - 1us);
    EXPECT_TRUE(c.core.workers().find("worker", 0));
    EXPECT_EQ(c.core.next_deadline(), start + 1s + 10min);
    c.advance(1us);
    EXPECT_FALSE(c.core.workers().find("worker", 0));
    EXPECT_EQ(c.core.next_deadline(), never);
    auto const v = c.core.overview(c.now());
    EXPECT_EQ(v.tasks_error + v.tasks_disconnected, 0u);
  }
}

TEST(heartbeat, a_row_that_fell_silent_is_forgotten_too) {
  cluster c;
  c.attach();
  c.advance(15s);
  ASSERT_EQ(c.state("worker", 0), task_state::error);
  EXPECT_EQ(c.core.next_deadline(), start + 15s + 10min);
  c.advance(10min);
  EXPECT_FALSE(c.core.workers().find("worker", 0));
}

TEST(heartbeat, returned_row_is_not_removed) {
  cluster c;
  c.lose(c.attach({.index = 0}));
  c.advance(9min);
  auto const w = c.attach({.index = 0});
  for (int i = 0; i < 60; ++i) c.alive(w), c.advance(2s);
  EXPECT_EQ(c.state("worker", 0), task_state::connected);
}

}  // namespace
}  // namespace muster::core
