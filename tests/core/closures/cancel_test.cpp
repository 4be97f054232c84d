#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

TEST(cancel, cancelled_job_ends_queued_closures_at_once_and_awaits_running_ones) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f"}, continue_all());
  EXPECT_EQ(c.status_of(cancel_session{{}, job.id}), status{});
  EXPECT_EQ(c.fx().stop_requests, (std::vector{stop_request{w, job[0], 1}}));
  EXPECT_EQ(c.state(job[1]), closure_state::cancelled);
  EXPECT_EQ(c.core.closures().find(job[1])->error->message, "cancelled");
  EXPECT_EQ(c.job(job.id).state, job_state::running);
  c.fail(w, job[0], "stopped", failure_kind::cancelled);
  EXPECT_EQ(c.job(job.id).state, job_state::cancelled);
}

TEST(cancel, job_is_cancelled_whether_its_running_closure_succeeds_or_fails) {
  for (bool const well : {true, false}) {
    cluster c;
    auto const w = c.attach();
    auto const job = c.open({"f"});
    c.ask(cancel_session{{}, job.id});
    well ? c.succeed(w, job[0]) : c.fail(w, job[0]);
    EXPECT_EQ(c.job(job.id).state, job_state::cancelled);
    EXPECT_EQ(c.job(job.id).error.has_value(), !well);
  }
}

TEST(cancel, an_idle_open_job_ends_at_once) {
  cluster c;
  auto const job = c.open({}, left_open());
  c.ask(cancel_session{{}, job.id});
  EXPECT_EQ(c.job(job.id).state, job_state::cancelled);
}

TEST(cancel, repeated_or_late_cancel_succeeds_without_effect) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.ask(cancel_session{{}, job.id});
  EXPECT_EQ(c.status_of(cancel_session{{}, job.id}), status{});
  EXPECT_TRUE(c.fx().stop_requests.empty());
  c.succeed(w, job[0]);
  EXPECT_EQ(c.status_of(cancel_session{{}, job.id}), status{});
  auto const done = c.open({});
  c.ask(cancel_session{{}, done.id});
  EXPECT_EQ(c.job(done.id).state, job_state::succeeded);
}

TEST(cancel, cancelling_a_queued_closure_does_not_affect_the_others) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f", "f"});
  EXPECT_EQ(c.status_of(cancel_closure{{}, job[1]}), status{});
  EXPECT_EQ(c.state(job[1]), closure_state::cancelled);
  EXPECT_FALSE(c.job(job.id).stopping);
  c.succeed(w, job[0]);
  EXPECT_EQ(c.sent(w), closures({job[2]}));
  c.succeed(w, job[2]);
  EXPECT_EQ(c.job(job.id).state, job_state::cancelled) << "one of its closures was cancelled";
}

TEST(cancel, cancelling_a_running_closure_sends_one_stop_request) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  EXPECT_EQ(c.status_of(cancel_closure{{}, job[0]}), status{});
  EXPECT_EQ(c.fx().stop_requests, (std::vector{stop_request{w, job[0], 1}}));
  EXPECT_EQ(c.state(job[0]), closure_state::running);
  EXPECT_EQ(c.status_of(cancel_closure{{}, job[0]}), status{});
  EXPECT_TRUE(c.fx().stop_requests.empty());
}

TEST(cancel, cancelling_a_finished_closure_succeeds_without_effect) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.succeed(w, job[0]);
  EXPECT_EQ(c.status_of(cancel_closure{{}, job[0]}), status{});
  EXPECT_EQ(c.state(job[0]), closure_state::succeeded);
}

TEST(cancel, an_unknown_closure_is_an_error) {
  cluster c;
  EXPECT_EQ(
      c.status_of(cancel_closure{{}, closure_id{5}}),
      (status{code::not_found, "there is no cl_0000000000000005, or its value was released"}));
}

TEST(cancel, a_closure_that_was_requeued_remembers_its_attempt) {
  cluster c;
  auto const job = c.open({"f"});
  c.lose(c.attach());
  c.ask(cancel_closure{{}, job[0]});
  EXPECT_EQ(c.core.closures().find(job[0])->error->attempt, 1u);
  EXPECT_EQ(c.core.closures().find(job[0])->attempts.size(), 1u);
}

}  // namespace
}  // namespace muster::core
