#include "tests/core/fixture.hpp"

namespace muster::core {
namespace options_cases {

closure_spec with(cluster& c, closure_options o, std::string_view function = "f") {
  auto spec = c.specs({std::string(function)}).front();
  spec.extras = std::make_shared<closure_extras>(closure_extras{o, {}});
  return spec;
}

TEST(priority, higher_priorities_run_first_and_equal_ones_in_order) {
  cluster c;
  auto const job =
      c.open_with({with(c, {.priority = 0}), with(c, {.priority = 5}), with(c, {.priority = -5}),
                   with(c, {.priority = 5}), c.specs({"g"}).front()});
  auto const w = c.attach({.functions = {"f", "g"}});
  closures order;
  while (!c.held(w).empty()) {
    order.push_back(c.held(w).at(0));
    c.succeed(w, order.back());
  }
  EXPECT_EQ(order, (closures{job[1], job[3], job[0], job[4], job[2]}));
}

TEST(priority, applies_within_a_batch) {
  cluster c;
  auto const job = c.open_with({with(c, {.priority = 1}), with(c, {.priority = 2}),
                                with(c, {.priority = 1}), with(c, {.priority = 2})});
  auto const w = c.attach({.slots = 3, .credits = 3});
  EXPECT_EQ(c.held(w), (closures{job[1], job[3], job[0]}));
}

TEST(delay, closure_starts_when_its_delay_has_elapsed) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open_with({with(c, {.delay = 5s})});
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  EXPECT_EQ(c.why(job[0]).why, closure_reason::delay);
  EXPECT_EQ(c.why(job[0]).starts_in, 5s);
  c.advance(4s);
  c.alive(w);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  c.advance(1s);
  EXPECT_EQ(c.state(job[0]), closure_state::running);
}

TEST(delay, cancelled_closure_never_starts) {
  cluster c;
  auto const job = c.open_with({with(c, {.delay = 5s})});
  EXPECT_TRUE(c.status_of(cancel_closure{{}, job[0]}).ok());
  EXPECT_EQ(c.job(job.id).state, job_state::cancelled);
  c.advance(6s);
  EXPECT_EQ(c.state(job[0]), closure_state::cancelled);
}

TEST(deadline, fails_queued_closures) {
  cluster c;
  auto const job = c.open_with({with(c, {.deadline = 2s}), with(c, {.delay = 1h, .deadline = 3s})},
                               continue_all());
  c.advance(2s);
  auto const closure = c.core.closures().find(job[0]).value();
  EXPECT_EQ(closure.state, closure_state::failed);
  EXPECT_EQ(closure.error->kind, failure_kind::timeout);
  EXPECT_EQ(closure.error->message, "its deadline of 2000 ms passed while it was queued");
  c.advance(1s);
  EXPECT_EQ(c.core.closures().find(job[1])->error->message,
            "its deadline of 3000 ms passed before its start");
}

TEST(deadline, stops_a_running_closure_and_fails_it_with_its_answer) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open_with({with(c, {.deadline = 2s})});
  c.advance(2s);
  EXPECT_EQ(c.state(job[0]), closure_state::running);
  ASSERT_EQ(c.fx().stop_requests.size(), 1u);
  c.succeed(w, job[0]);
  auto const closure = c.core.closures().find(job[0]).value();
  EXPECT_EQ(closure.state, closure_state::failed);
  EXPECT_EQ(closure.error->kind, failure_kind::timeout);
  EXPECT_EQ(closure.error->message, "its deadline of 2000 ms passed while it ran");
  EXPECT_EQ(closure.error->worker, "worker:0");
}

TEST(deadline, worker_lost_after_the_deadline_causes_no_further_attempt) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open_with({with(c, {.deadline = 2s})});
  c.advance(2s);
  c.lose(w);
  EXPECT_EQ(c.core.closures().find(job[0])->error->kind, failure_kind::timeout);
}

TEST(deadline, has_no_effect_after_the_closure_has_ended) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open_with({with(c, {.deadline = 2s})});
  c.succeed(w, job[0]);
  c.advance(3s);
  EXPECT_EQ(c.state(job[0]), closure_state::succeeded);
}

TEST(job_deadline, fails_the_job_and_cancels_the_rest) {
  cluster c;
  auto const w = c.attach();
  auto spec = continue_all();
  spec.deadline = 10s;
  auto const job = c.open({"f", "f"}, spec);
  c.advance(5s);
  c.alive(w);
  c.advance(5s);
  EXPECT_EQ(c.state(job[1]), closure_state::cancelled);
  EXPECT_EQ(c.job(job.id).state, job_state::running);
  c.fail(w, job[0], "stopped", failure_kind::cancelled);
  EXPECT_EQ(c.job(job.id).state, job_state::failed);
  EXPECT_EQ(c.job(job.id).error->kind, failure_kind::timeout);
  EXPECT_EQ(c.job(job.id).error->message,
            "the deadline of 10000 ms passed with 1 closure waiting and 1 running");
}

TEST(job_deadline, has_no_effect_after_the_job_has_ended) {
  cluster c;
  auto const w = c.attach();
  auto spec = fail_fast();
  spec.deadline = 10s;
  auto const job = c.open({"f"}, spec);
  c.succeed(w, job[0]);
  c.advance(20s);
  EXPECT_EQ(c.job(job.id).state, job_state::succeeded);
}

TEST(retry, a_user_error_is_tried_again_after_a_pause_that_doubles) {
  cluster c;
  auto const w = c.attach();
  auto const job =
      c.open_with({with(c, {.max_retries = 2, .retry_initial = 1s, .retry_max = 1min})});
  c.fail(w, job[0], "flaky");
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  auto const first = c.core.closures().find(job[0])->start_at - c.now();
  EXPECT_LE(first, 1s);
  EXPECT_GE(first, 750ms);
  auto const why = *c.core.closures().explain(job[0], c.now());
  EXPECT_EQ(why.why, closure_reason::retry);
  EXPECT_EQ(why.retries, 1u);
  EXPECT_EQ(why.retries_max, 2u);
  EXPECT_EQ(why.lost, (attempt_outcome{attempt_end::user_error, "flaky"}));
  c.advance(first);
  c.fail(w, job[0], "flaky again");
  auto const second = c.core.closures().find(job[0])->start_at - c.now();
  EXPECT_LE(second, 2s);
  EXPECT_GE(second, 1500ms);
  c.advance(second);
  c.fail(w, job[0], "for good");
  auto const closure = c.core.closures().find(job[0]).value();
  EXPECT_EQ(closure.state, closure_state::failed);
  EXPECT_EQ(closure.error->message, "for good");
  EXPECT_EQ(closure.retries, 2u);
  EXPECT_EQ(closure.attempts.size(), 3u);
  EXPECT_EQ(closure.attempts[0].outcome, (attempt_outcome{attempt_end::user_error, "flaky"}));
  EXPECT_EQ(c.job(job.id).retried, 2u);
}

TEST(retry, job_succeeds_when_a_retry_succeeds) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open_with({with(c, {.max_retries = 1, .retry_initial = 0s, .retry_max = 0s})});
  c.fail(w, job[0]);
  EXPECT_EQ(c.state(job[0]), closure_state::running);  // without a pause
  c.succeed(w, job[0], "2");
  EXPECT_EQ(c.job(job.id).state, job_state::succeeded);
  EXPECT_FALSE(c.job(job.id).error.has_value());
}

TEST(retry, applies_only_to_user_errors_in_sessions_that_continue) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open_with({with(c, {.max_retries = 5}), c.specs({"f"}).front()});
  c.fail(w, job[1], "fatal");  // fail_fast: the session stops
  c.fail(w, job[0], "too late to be tried again");
  EXPECT_EQ(c.state(job[0]), closure_state::failed);
  auto const other = c.open_with({with(c, {.max_retries = 5})});
  c.fail(w, other[0], "bad argument", failure_kind::input);
  EXPECT_EQ(c.state(other[0]), closure_state::failed);
}

TEST(retry, does_not_apply_to_a_cancelled_closure) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open_with({with(c, {.max_retries = 5})});
  c.ask(cancel_closure{{}, job[0]});
  c.fail(w, job[0], "interrupted");
  EXPECT_EQ(c.state(job[0]), closure_state::failed);
  EXPECT_EQ(c.job(job.id).retried, 0u);
}

TEST(stale_handle, is_retried_after_a_pause) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.fail(w, job[0], "gone", failure_kind::stale_handle);
  // Retried at once: another worker might know the handle.
  EXPECT_EQ(c.state(job[0]), closure_state::running);
  c.fail(w, job[0], "gone", failure_kind::stale_handle);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  c.advance(100ms);
  EXPECT_EQ(c.state(job[0]), closure_state::running);
  EXPECT_EQ(c.core.closures().find(job[0])->attempts[0].outcome,
            (attempt_outcome{attempt_end::stale_handle, "gone"}));
}

TEST(weight, sets_the_share_of_turns) {
  cluster c;
  auto heavy = continue_all();
  heavy.weight = 3;
  auto const a = c.open(names(40, "f"), heavy);
  auto const b = c.open(names(40, "f"), continue_all());
  auto const w = c.attach();
  std::size_t of_a = 0;
  for (int i = 0; i < 16; ++i) {
    auto const id = c.held(w).at(0);
    of_a += c.core.closures().find(id)->job == a.id;
    c.succeed(w, id);
  }
  EXPECT_EQ(of_a, 12u);
  EXPECT_EQ(c.job(b.id).counts.succeeded, 4u);
}

TEST(options, values_out_of_range_are_rejected_by_field) {
  cluster c;
  auto const message = [&](closure_options o) {
    return c.status_of(open_session{{}, {}, {with(c, o)}}).message;
  };
  EXPECT_EQ(message({.priority = 2'000'000}),
            "closures[0].options.priority: must be from -1000000 to 1000000, got 2000000");
  EXPECT_EQ(message({.delay = -1s}), "closures[0].options.delay: must be between 0 and 365 days");
  EXPECT_EQ(message({.deadline = -1s}),
            "closures[0].options.deadline: must be between 0 and 365 days");
  EXPECT_EQ(message({.max_retries = 10'001}),
            "closures[0].options.max_retries: 10001, the limit is 10000");
  auto spec = fail_fast();
  spec.weight = 0;
  EXPECT_EQ(c.status_of(open_session{{}, spec, {}}).message, "weight: must be from 1 to 1000");
}

}  // namespace options_cases
}  // namespace muster::core
