#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

struct reconnect : testing::Test {
  cluster c;
  joining const same{.slots = 2, .credits = 4, .incarnation = 42};
  stream_id const w = c.attach(same);

  /// Opens two closures and runs them for 8 s, which gives a grace of 2 s.
  opened busy(session_spec spec = {}) {
    auto const job = c.open({"f", "f"}, std::move(spec));
    EXPECT_EQ(c.held(w), job.closures);
    c.wait(8s);
    return job;
  }
  /// Opens four closures: the window is wide, and two of them run.
  opened full() {
    for (int i = 0; i < 2; ++i) {
      auto const warm = c.open({"f", "f"});
      c.answer(w, {c.good(w, warm[0]), c.good(w, warm[1])});
    }
    auto const job = c.open({"f", "f", "f", "f"});
    EXPECT_EQ(c.held(w), job.closures);
    c.wait(2s);
    return job;
  }
  attempt_outcome outcome(closure_id id, std::size_t attempt = 0) {
    return c.core.closures().find(id)->attempts.at(attempt).outcome;
  }
};

TEST_F(reconnect, closures_stay_running_and_the_task_is_late) {
  auto const job = busy();
  c.cut(w, "reset");
  EXPECT_EQ(c.state(job[0]), closure_state::running);
  EXPECT_EQ(c.state(job[1]), closure_state::running);
  auto const t = c.task(0);
  EXPECT_EQ(t.state, task_state::late);
  EXPECT_TRUE(t.away);
  EXPECT_EQ(t.error, "reset");
  EXPECT_EQ(t.running, 2u);
  EXPECT_EQ(c.said(),
            (std::vector{log_event{
                log_event_kind::worker_away, "worker:0",
                "reset; 2 closures that it may still be running wait for it to reconnect"}}));
  auto const why = c.why(job[0]);
  EXPECT_EQ(why.why, closure_reason::running);
  EXPECT_EQ(why.lasted, 8s);
  EXPECT_EQ(why.away_for, 0ms);
  EXPECT_EQ(why.requeue_in, 2s);
}

TEST_F(reconnect, same_incarnation_continues_with_common_closures) {
  auto const job = busy();
  c.cut(w);
  c.advance(1s);
  auto const back = c.come_back(same, job.closures);
  EXPECT_EQ(c.fx().welcomes.at(0).kept, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(c.held(back), job.closures);
  EXPECT_TRUE(c.fx().assignments.empty());
  EXPECT_EQ(c.task(0).state, task_state::connected);
  EXPECT_EQ(c.task(0).error, "");
  EXPECT_EQ(c.task(0).reconnects, 1u);
  c.answer(back, {c.good(back, job[1]), c.good(back, job[0])});
  EXPECT_EQ(c.job(job.id).state, job_state::succeeded);
  EXPECT_EQ(c.core.closures().find(job[0])->attempts.size(), 1u);
  EXPECT_EQ(c.job(job.id).requeued, 0u);
}

TEST_F(reconnect, works_before_the_old_stream_is_known_to_be_dead) {
  auto const job = busy();
  auto const back = c.come_back(same, job.closures);
  EXPECT_EQ(c.fx().disconnects,
            (std::vector{disconnect{w, {code::aborted, "worker:0 attached again"}, false}}));
  EXPECT_EQ(c.held(back), job.closures);
  c.succeed(back, job[0]);
  EXPECT_EQ(c.state(job[0]), closure_state::succeeded);
}

// Messages of two connections can arrive in the wrong order. An older one would release the
// closures that run on the newer connection.
TEST_F(reconnect, overtaken_stream_is_rejected) {
  auto const job = busy();
  c.cut(w);
  auto late = c.arrival(same), now = c.arrival(same);
  late.spec.stream = 2, now.spec.stream = 3;
  for (auto const id : job.closures) now.held.push_back({id, 1});
  c.step(now);
  EXPECT_EQ(c.held(now.stream), job.closures);
  c.step(late);
  EXPECT_EQ(c.fx().disconnects,
            (std::vector{disconnect{
                late.stream, {code::aborted, "worker:0 has reconnected since"}, false}}));
  EXPECT_EQ(c.held(now.stream), job.closures);
  EXPECT_EQ(c.task(0).state, task_state::connected);
}

TEST_F(reconnect, stream_numbers_restart_with_a_new_incarnation) {
  auto first = c.arrival({.incarnation = 7}), next = c.arrival({.incarnation = 8});
  first.spec.stream = 5, next.spec.stream = 1;
  first.spec.index = next.spec.index = 3;
  c.step(first);
  c.step(next);
  EXPECT_EQ(c.fx().welcomes.size(), 1u);
}

TEST_F(reconnect, closure_missing_on_the_worker_is_requeued_without_suspicion) {
  auto const job = busy();
  c.cut(w);
  auto const back = c.come_back(same, {job[1]});
  EXPECT_EQ(c.fx().welcomes.at(0).kept, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(c.held(back), closures({job[1], job[0]})) << "sent to it again";
  EXPECT_EQ(outcome(job[0]), (attempt_outcome{attempt_end::not_there}));
  EXPECT_EQ(c.core.closures().find(job[0])->attempts.size(), 2u);
}

TEST_F(reconnect, closures_that_are_not_assigned_to_the_worker_are_not_kept) {
  auto const job = busy();
  auto const other = c.attach();
  auto const others = c.open({"f"});
  ASSERT_EQ(c.held(other), others.closures);
  c.cut(w);
  auto e = c.arrival(same);
  e.held = {{others[0], 1}, {job[0], 2}, {closure_id{77}, 1}, {job[1], 1}};
  c.step(e);
  EXPECT_EQ(c.fx().welcomes.at(0).kept, (std::vector<std::uint32_t>{3}));
  EXPECT_EQ(c.held(other), others.closures);
}

TEST_F(reconnect, prefetched_closures_are_requeued_at_once_without_suspicion) {
  auto const job = full();
  c.cut(w);
  EXPECT_EQ(c.state(job[1]), closure_state::running);
  EXPECT_EQ(c.state(job[2]), closure_state::queued);
  EXPECT_EQ(c.state(job[3]), closure_state::queued);
  EXPECT_EQ(outcome(job[2]), (attempt_outcome{attempt_end::connection_broke, "connection lost"}));
  auto const other = c.attach({.slots = 4, .credits = 4});
  EXPECT_EQ(c.held(other), closures({job[2], job[3]})) << "in the old order";
  auto const back = c.come_back(same, job.closures);
  EXPECT_EQ(c.fx().welcomes.at(0).kept, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(c.held(back), closures({job[0], job[1]}));
}

TEST_F(reconnect, a_closure_waits_for_a_quarter_of_the_time_it_has_run) {
  auto const job = c.open({"f"});
  c.wait(4s);
  auto const second = c.open({"f"});
  c.wait(4s);
  c.cut(w);
  c.advance(999ms);
  EXPECT_EQ(c.state(second[0]), closure_state::running);
  c.advance(1ms);
  EXPECT_EQ(c.state(second[0]), closure_state::queued);
  EXPECT_EQ(outcome(second[0]), (attempt_outcome{attempt_end::worker_lost, "connection lost"}));
  EXPECT_EQ(c.state(job[0]), closure_state::running);
  c.advance(1s);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  EXPECT_EQ(c.task(0).state, task_state::error);
  EXPECT_EQ(c.said(),
            (std::vector{log_event{log_event_kind::worker_lost, "worker:0", "connection lost"}}));
}

TEST_F(reconnect, wait_never_exceeds_the_grace_period) {
  auto const job = c.open({"f"});
  for (int i = 0; i < 20; ++i) c.advance(3s), c.alive(w);
  c.cut(w);
  c.advance(4'999ms);
  EXPECT_EQ(c.state(job[0]), closure_state::running);
  c.advance(1ms);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  EXPECT_EQ(c.task(0).state, task_state::error);
}

TEST_F(reconnect, a_worker_that_held_nothing_is_lost_at_once) {
  c.cut(w);
  EXPECT_EQ(c.task(0).state, task_state::error);
  EXPECT_TRUE(c.said().empty()) << "the reporter of the loss logs it";
}

TEST_F(reconnect, without_a_grace_period_the_worker_is_lost_at_once) {
  config none;
  none.reconnect_grace = {};
  cluster strict(none);
  auto const s = strict.attach(same);
  auto const job = strict.open({"f"});
  strict.wait(10s);
  strict.cut(s);
  EXPECT_EQ(strict.state(job[0]), closure_state::queued);
  EXPECT_EQ(strict.task(0).state, task_state::error);
}

TEST_F(reconnect, another_incarnation_keeps_no_closures) {
  auto const job = busy();
  c.cut(w);
  auto other = same;
  other.index = 0;
  other.incarnation = 43;
  auto const next = c.come_back(other, job.closures);
  EXPECT_TRUE(c.fx().welcomes.at(0).kept.empty());
  EXPECT_TRUE(c.fx().disconnects.empty());
  EXPECT_EQ(c.held(next), job.closures);
  EXPECT_EQ(c.core.closures().find(job[0])->attempts.size(), 2u);
  EXPECT_EQ(outcome(job[0]),
            (attempt_outcome{attempt_end::worker_lost,
                             "worker:0 was taken over by another process on host"}));
}

TEST_F(reconnect, absent_worker_gets_no_work_and_provides_no_function) {
  busy();
  c.cut(w);
  auto const more = c.open({"f"});
  EXPECT_EQ(c.state(more[0]), closure_state::queued);
  EXPECT_EQ(c.core.functions().all().at(0).workers, 0u);
  EXPECT_EQ(c.core.closures().explain(more[0], c.now())->why, closure_reason::workers_closed);
  EXPECT_EQ(c.core.closures().explain(more[0], c.now())->lack.value().away, 1u);
  session_spec strict;
  strict.require_function = true;
  EXPECT_EQ(c.status_of(open_session{{}, strict, c.specs({"f"})}).code, code::failed_precondition);
}

TEST_F(reconnect, short_disconnects_do_not_count_as_losses) {
  auto spec = fail_fast();
  spec.max_worker_failures = 2;
  auto const job = c.open({"f"}, spec);
  auto stream = w;
  for (int i = 0; i < 10; ++i) {
    c.wait(1s);
    c.cut(stream);
    stream = c.come_back(same, job.closures);
  }
  c.succeed(stream, job[0]);
  EXPECT_EQ(c.job(job.id).state, job_state::succeeded);
}

TEST_F(reconnect, late_return_removes_the_suspicion) {
  auto spec = fail_fast();
  spec.max_worker_failures = 2;
  auto const job = c.open({"f"}, spec);
  auto stream = w;
  for (int i = 0; i < 5; ++i) {
    c.wait(1s);
    c.cut(stream);
    c.advance(1s);
    ASSERT_EQ(c.state(job[0]), closure_state::queued) << i;
    stream = c.come_back(same, job.closures);
    EXPECT_TRUE(c.fx().welcomes.at(0).kept.empty());
    ASSERT_EQ(c.held(stream), job.closures) << "sent again";
  }
  for (int i = 0; i < 2; ++i) {
    c.wait(1s);
    c.cut(stream);
    c.advance(1s);
    auto next = same;
    next.incarnation = 50u + static_cast<unsigned>(i);
    next.index = 0;
    stream = c.attach(next);
  }
  EXPECT_EQ(c.core.closures().find(job[0])->error->kind, failure_kind::worker_lost);
}

TEST_F(reconnect, pending_stop_is_sent_after_the_reconnect) {
  auto const job = busy();
  c.cut(w);
  c.ask(cancel_closure{{}, job[0]});
  EXPECT_TRUE(c.fx().stop_requests.empty());
  auto const back = c.come_back(same, job.closures);
  EXPECT_EQ(c.fx().stop_requests, (std::vector{stop_request{back, job[0], 1}}));
}

TEST_F(reconnect, a_cancelled_closure_is_cancelled_when_its_worker_stays_away) {
  auto const job = busy();
  c.cut(w);
  c.ask(cancel_session{{}, job.id});
  EXPECT_EQ(c.state(job[0]), closure_state::running) << "it may be executing";
  c.advance(2s);
  EXPECT_EQ(c.state(job[0]), closure_state::cancelled);
  EXPECT_EQ(c.job(job.id).state, job_state::cancelled);
}

TEST_F(reconnect, drain_request_is_sent_again_after_the_reconnect) {
  auto const job = busy();
  c.ask(drain_task{{}, "worker", 0});
  c.cut(w);
  auto const back = c.come_back(same, job.closures);
  EXPECT_EQ(c.fx().drain_requests, (std::vector{drain_request{back}}));
  EXPECT_TRUE(c.task(0).draining);
}

TEST_F(reconnect, drain_request_during_the_absence_is_sent_after_the_reconnect) {
  auto const job = busy();
  c.cut(w);
  EXPECT_EQ(c.status_of(drain_task{{}, "worker", 0}), status{});
  EXPECT_TRUE(c.fx().drain_requests.empty());
  auto const back = c.come_back(same, job.closures);
  EXPECT_EQ(c.fx().drain_requests, (std::vector{drain_request{back}}));
}

TEST_F(reconnect, silence_counts_from_the_last_sign_of_life) {
  auto const job = c.open({"f"});
  c.advance(14s);
  c.cut(w);
  c.advance(1s);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  EXPECT_TRUE(c.fx().disconnects.empty()) << "there is no stream to end";
  EXPECT_EQ(c.task(0).error, "worker:0 was silent for 15000 ms");
  EXPECT_EQ(c.said().at(0).kind, log_event_kind::worker_lost);
}

TEST_F(reconnect, fewer_credits_than_before_requeue_the_oldest_closures) {
  auto const job = busy();
  c.cut(w);
  auto narrow = same;
  narrow.slots = narrow.credits = 1;
  auto const back = c.come_back(narrow, job.closures);
  EXPECT_EQ(c.held(back), closures({job[1]}));
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
}

TEST_F(reconnect, messages_of_the_dead_stream_are_ignored) {
  auto const job = busy();
  auto const late = c.good(w, job[0]);
  c.cut(w);
  EXPECT_EQ(c.answer(w, {late}), effects{});
  EXPECT_EQ(c.alive(w), effects{});
  EXPECT_EQ(c.cut(w), effects{});
  EXPECT_EQ(c.state(job[0]), closure_state::running);
}

TEST_F(reconnect, failure_of_a_requeued_closure_does_not_affect_kept_ones) {
  auto spec = fail_fast();
  spec.max_worker_failures = 1;
  auto const a = c.open({"f"}, spec);
  c.wait(1s);
  auto const b = c.open({"f"}, spec);
  c.cut(w);
  c.advance(1ms);
  EXPECT_EQ(c.state(b[0]), closure_state::failed) << "quarantined: it ran for no time";
  EXPECT_EQ(c.state(a[0]), closure_state::running);
}

}  // namespace
}  // namespace muster::core
