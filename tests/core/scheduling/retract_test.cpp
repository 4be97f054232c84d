#include "tests/core/fixture.hpp"

namespace muster::core {
namespace retract_cases {

names many(std::size_t n) {
  return names(n, "f");
}

/// A worker with one slot and a window of eight, all sent.
struct retract : testing::Test {
  cluster c;
  stream_id w = c.attach({.slots = 1, .credits = 8, .index = 0});
  opened job;

  void send_eight(std::size_t n = 8) {
    auto const warm = c.open(many(20));
    for (auto const id : warm.closures) c.succeed(w, id);
    job = c.open(many(n));
    ASSERT_EQ(c.held(w).size(), 8u);
  }
  closures retracted() const {
    closures ids;
    for (auto const& r : c.fx().retractions) ids.push_back(r.closure);
    return ids;
  }
  void give_back(stream_id from, closures const& ids) {
    worker_results e{from, {}, {}, {}};
    for (auto const id : ids) e.returned.push_back({id, c.watch().attempt(id)});
    c.step(e);
  }
  void start(stream_id on, closure_id id, duration ran) {
    c.step(worker_results{on, {}, {{id, c.watch().attempt(id), ran}}, {}});
  }
  void wait_for_retraction() {
    c.wait(50ms);
    c.tick();
  }
};

TEST_F(retract, prefetched_closure_is_queued_and_shows_its_worker) {
  send_eight();
  EXPECT_EQ(c.state(job[0]), closure_state::running);
  EXPECT_EQ(c.core.closures().find(job[0])->sent_to, "");
  EXPECT_EQ(c.state(job[1]), closure_state::queued);
  EXPECT_EQ(c.core.closures().find(job[1])->sent_to, "worker:0");
  EXPECT_TRUE(c.core.closures().find(job[1])->attempts.empty());
  EXPECT_EQ(c.job(job.id).counts.running, 1u);
  EXPECT_EQ(c.job(job.id).counts.queued, 7u);
  EXPECT_EQ(c.task(0).running, 1u);
  EXPECT_EQ(c.task(0).prefetched, 7u);
  EXPECT_EQ(c.core.closures().explain(job[1], c.now())->why, closure_reason::prefetched);
  EXPECT_EQ(c.core.closures().explain(job[1], c.now())->worker, "worker:0");
}

TEST_F(retract, next_closure_starts_when_a_slot_becomes_free) {
  send_eight();
  c.wait(3s);
  c.succeed(w, job[0]);
  EXPECT_EQ(c.state(job[1]), closure_state::running);
  EXPECT_EQ(c.core.closures().find(job[1])->attempts.at(0).started, c.now());
  c.wait(2s);
  c.succeed(w, job[1]);
  auto const a = c.core.closures().find(job[1])->attempts.at(0);
  EXPECT_EQ(a.ended - a.started, 2s);
}

TEST_F(retract, measured_execution_time_takes_precedence) {
  send_eight();
  c.wait(3s);
  auto r = c.good(w, job[0]);
  r.execution = 700ms;
  auto ahead = c.good(w, job[1]);
  ahead.execution = 5ms;
  c.answer(w, {r, ahead});
  for (auto const& [id, took] :
       {std::pair(job[0], duration(700ms)), std::pair(job[1], duration(5ms))}) {
    auto const a = c.core.closures().find(id)->attempts.at(0);
    EXPECT_EQ(a.ended - a.started, took);
  }
}

TEST_F(retract, worker_can_report_that_it_runs_a_newer_closure_first) {
  send_eight();
  c.wait(1s);
  start(w, job[3], 20ms);
  EXPECT_EQ(c.state(job[3]), closure_state::running);
  EXPECT_EQ(c.core.closures().find(job[3])->attempts.at(0).started, c.now() - 20ms);
  EXPECT_EQ(c.state(job[0]), closure_state::queued) << "there is one slot";
  EXPECT_EQ(c.task(0).running, 1u);
  c.succeed(w, job[3]);
  EXPECT_EQ(c.state(job[0]), closure_state::running);
  start(w, job[3], 20ms);  // too late
  EXPECT_EQ(c.task(0).running, 1u);
}

TEST_F(retract, prefetched_closures_move_to_idle_workers) {
  send_eight();
  auto const other = c.attach({.slots = 1, .credits = 8, .index = 1});
  EXPECT_TRUE(c.held(other).empty());
  c.wait(49ms);
  c.tick();
  EXPECT_TRUE(retracted().empty());
  c.wait(1ms);
  c.tick();
  EXPECT_EQ(retracted(), closures(job.closures.begin() + 1, job.closures.end()));
  wait_for_retraction();
  EXPECT_TRUE(retracted().empty()) << "a retraction was requested already";
  give_back(w, closures(job.closures.begin() + 1, job.closures.end()));
  EXPECT_EQ(c.held(other), closures({job[1]}));
  EXPECT_EQ(c.held(w), closures({job[0]})) << "it is sent nothing more before it has answered";
  auto const v = c.core.closures().find(job[1]).value();
  ASSERT_EQ(v.attempts.size(), 1u) << "a prefetched closure is not an attempt";
  EXPECT_EQ(v.attempts[0].attempt, 1u);
  EXPECT_EQ(v.attempts[0].worker, "worker:1");
  EXPECT_EQ(c.job(job.id).requeued, 0u);
  EXPECT_EQ(c.past.metrics().retracted, 7u);
}

TEST_F(retract, idle_workers_receive_a_share_of_a_progressing_worker) {
  send_eight();
  auto const other = c.attach({.slots = 1, .credits = 8, .index = 1});
  c.wait(30ms);
  c.succeed(w, job[0]);
  c.wait(20ms);
  c.tick();
  EXPECT_EQ(retracted(), closures({job[2], job[3], job[4]}));
  give_back(w, retracted());
  EXPECT_EQ(c.held(other), closures({job[2]}));
}

TEST_F(retract, only_closures_that_the_idle_worker_can_run_are_retracted) {
  send_eight();
  c.attach({.functions = {"g"}, .slots = 1, .credits = 8, .index = 1});
  wait_for_retraction();
  EXPECT_TRUE(retracted().empty());
  c.attach({.functions = {"f"}, .slots = 1, .credits = 8, .index = 2});
  wait_for_retraction();
  wait_for_retraction();
  EXPECT_EQ(c.past.metrics().retracted, 0u);
}

TEST_F(retract, closure_started_before_the_request_is_answered_normally) {
  send_eight();
  c.attach({.slots = 1, .credits = 8, .index = 1});
  wait_for_retraction();
  ASSERT_EQ(retracted().size(), 7u);
  c.succeed(w, job[0]);
  c.succeed(w, job[1]);
  EXPECT_EQ(c.state(job[1]), closure_state::succeeded);
  give_back(w, {job[2], job[3], job[4], job[5], job[6], job[7]});
  EXPECT_EQ(c.state(job[2]), closure_state::running);
}

TEST_F(retract, closure_cancelled_during_retraction_is_not_run_again) {
  send_eight();
  c.attach({.slots = 1, .credits = 8, .index = 1});
  wait_for_retraction();
  c.ask(cancel_closure{{}, job[4]});
  EXPECT_EQ(c.state(job[4]), closure_state::queued);
  give_back(w, {job[4]});
  EXPECT_EQ(c.state(job[4]), closure_state::cancelled);
}

TEST_F(retract, returning_a_closure_that_is_not_held_disconnects_the_worker) {
  send_eight();
  c.step(worker_results{w, {}, {}, {{job[3], 9}}});
  ASSERT_EQ(c.fx().disconnects.size(), 1u);
  EXPECT_EQ(c.fx().disconnects[0].status.code, code::invalid_argument);
}

TEST_F(retract, only_running_closures_of_a_lost_worker_are_suspected) {
  send_eight();
  c.lose(w);
  for (auto const id : job.closures) {
    auto const v = c.core.closures().find(id);
    EXPECT_EQ(v->state, closure_state::queued);
    EXPECT_EQ(v->sent_to, "");
  }
  EXPECT_EQ(c.job(job.id).requeued, 8u);
}

TEST_F(retract, the_window_follows_measured_times) {
  send_eight(100);
  for (std::size_t i = 0; i < 12; ++i) {
    c.wait(1ms);
    auto r = c.good(w, job[i]);
    r.execution = 30ms;  // the last of 8 waits 240 ms
    c.answer(w, {r});
  }
  EXPECT_LE(c.held(w).size(), 2u);
}

}  // namespace retract_cases
}  // namespace muster::core
