#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

TEST(results, a_value_ends_the_closure_and_the_job) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.wait(3ms);
  c.answer(w, {[&] {
             auto r = c.good(w, job[0]);
             r.value = blob("\x01", encoding::bytes);
             return r;
           }()});
  auto const closure = c.core.closures().find(job[0]).value();
  EXPECT_EQ(closure.state, closure_state::succeeded);
  EXPECT_EQ(closure.value, value_state::ready);
  EXPECT_EQ(closure.data, blob("\x01", encoding::bytes));
  EXPECT_EQ(closure.finished, start + 3ms);
  EXPECT_FALSE(closure.args) << "arguments are released when they are no longer needed";
  EXPECT_EQ(c.job(job.id).state, job_state::succeeded);
  EXPECT_EQ(c.job(job.id).finished, start + 3ms);
}

TEST(results, a_closure_may_end_without_a_value) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  auto r = c.good(w, job[0]);
  r.value = {};
  c.answer(w, {r});
  EXPECT_EQ(c.state(job[0]), closure_state::succeeded);
  EXPECT_FALSE(c.core.closures().find(job[0])->data);
}

TEST(results, a_failure_is_recorded_with_worker_and_attempt) {
  cluster c;
  c.lose(c.attach());
  auto const w = c.attach({.index = 5});
  auto const job = c.open({"f"});
  auto r = c.bad(w, job[0], "division by zero");
  r.failure->type = "ZeroDivisionError";
  r.failure->traceback = "line 1";
  r.failure->worker = "somebody else";
  r.failure->attempt = 99;
  c.answer(w, {r});
  failure const expected{failure_kind::user, "ZeroDivisionError", "division by zero",
                         "line 1",           "worker:5",          1};
  EXPECT_EQ(c.core.closures().find(job[0])->error, expected);
  EXPECT_EQ(c.core.closures().find(job[0])->value, value_state::ready);
  EXPECT_EQ(c.job(job.id).error, expected);
  EXPECT_EQ(c.job(job.id).state, job_state::failed);
  EXPECT_EQ(c.task(5).failed, 1u);
  EXPECT_EQ(c.task(5).finished, 1u);
}

TEST(results, results_of_one_message_are_processed_in_order) {
  cluster c;
  auto const w = c.attach({.slots = 3, .credits = 3});
  auto const s = c.stream(continue_all());
  auto const tokens = c.schedule(s, {"f", "f", "f"});
  auto const ids = c.held(w);
  c.answer(w, {c.good(w, ids[1], "b"), c.bad(w, ids[2]), c.good(w, ids[0], "a")});
  failure const broken{failure_kind::user, "", "broken", "", "worker:0", 1};
  EXPECT_EQ(c.fx().outcomes, (std::vector{outcome{s, tokens[1], true, blob("b"), {}},
                                          outcome{s, tokens[2], false, {}, broken},
                                          outcome{s, tokens[0], true, blob("a"), {}}}));
}

TEST(results, stale_handle_is_retried_at_once) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f"});
  c.fail(w, job[0], "gone", failure_kind::stale_handle);
  EXPECT_EQ(c.fx().assignments, (std::vector{assignment{job[0], 2, c.function("f"), blob("1")}}));
  EXPECT_EQ(c.job(job.id).requeued, 1u);
  EXPECT_EQ(c.task(0).failed, 0u);
  c.succeed(w, job[0]);
  EXPECT_EQ(c.state(job[0]), closure_state::succeeded);
}

TEST(results, handle_that_stays_stale_fails_with_the_workers_message) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  for (int i = 0; i < 3; ++i) {
    c.fail(w, job[0], "who is f?", failure_kind::stale_handle);
    c.advance(1s);  // retries become less frequent after the second failure
    c.alive(w);
  }
  EXPECT_EQ(c.state(job[0]), closure_state::failed);
  EXPECT_NE(c.core.closures().find(job[0])->error->message.find("who is f?"), std::string::npos);
}

TEST(results, cancelled_answer_counts_only_after_a_stop_request) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open({"f", "f"}, continue_all());
  c.ask(cancel_closure{{}, job[0]});
  c.fail(w, job[0], "stopped", failure_kind::cancelled);
  c.fail(w, job[1], "stopped myself", failure_kind::cancelled);
  EXPECT_EQ(c.state(job[0]), closure_state::cancelled);
  EXPECT_EQ(c.core.closures().find(job[0])->error->worker, "worker:0");
  EXPECT_EQ(c.state(job[1]), closure_state::failed);
}

TEST(results, a_closure_that_was_asked_to_stop_may_still_succeed_or_fail) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open({"f", "f"}, continue_all());
  c.ask(cancel_closure{{}, job[0]});
  c.ask(cancel_closure{{}, job[1]});
  c.succeed(w, job[0], "too late");
  c.fail(w, job[1]);
  EXPECT_EQ(c.core.closures().find(job[0])->data, blob("too late"));
  EXPECT_EQ(c.state(job[1]), closure_state::failed);
}

TEST(results, a_closure_that_was_asked_to_stop_and_is_stale_is_cancelled) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f"});
  c.ask(cancel_closure{{}, job[0]});
  c.fail(w, job[0], "gone", failure_kind::stale_handle);
  EXPECT_EQ(c.state(job[0]), closure_state::cancelled);
  EXPECT_FALSE(c.job(job.id).error) << "one cancelled closure does not fail the job";
  EXPECT_EQ(c.sent(w), closures({job[1]}));
}

TEST(results, task_counts_its_finished_and_failed_closures) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f", "f"}, continue_all());
  c.succeed(w, job[0]);
  c.fail(w, job[1]);
  EXPECT_EQ(c.task(0).finished, 2u);
  EXPECT_EQ(c.task(0).failed, 1u);
  EXPECT_EQ(c.task(0).running, 1u);
}

}  // namespace
}  // namespace muster::core
