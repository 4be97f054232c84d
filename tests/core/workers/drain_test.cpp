#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

TEST(drain, worker_that_requests_it_finishes_its_closures_and_receives_none) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f"});
  EXPECT_EQ(c.step(worker_drain{w, false}), effects{});
  EXPECT_TRUE(c.task(0).draining);
  c.succeed(w, job[0]);
  EXPECT_EQ(c.held(w), closures{});
  EXPECT_EQ(c.state(job[0]), closure_state::succeeded);
  EXPECT_EQ(c.state(job[1]), closure_state::queued);
  EXPECT_EQ(c.state("worker", 0), task_state::connected);
}

TEST(drain, by_stream_notifies_the_worker_if_requested) {
  cluster c;
  auto const w = c.attach();
  c.step(worker_drain{w, true});
  EXPECT_EQ(c.fx().drain_requests, (std::vector{drain_request{w}}));
}

TEST(drain, by_name_notifies_the_worker_and_answers_the_operator) {
  cluster c;
  c.attach();
  auto const w = c.attach({.job = "trainer"});
  EXPECT_EQ(c.status_of(drain_task{{}, "trainer", 0}), status{});
  EXPECT_EQ(c.fx().drain_requests, (std::vector{drain_request{w}}));
  EXPECT_TRUE(c.core.workers().find("trainer", 0)->draining);
  EXPECT_FALSE(c.core.workers().find("worker", 0)->draining);
}

TEST(drain, by_name_does_not_count_as_a_sign_of_life) {
  cluster c;
  c.attach();
  c.wait(3s);
  c.status_of(drain_task{{}, "worker", 0});
  EXPECT_EQ(c.task(0).last_seen, start);
}

TEST(drain, of_a_task_that_is_not_connected_is_refused) {
  cluster c;
  c.lose(c.attach());
  EXPECT_EQ(c.status_of(drain_task{{}, "worker", 0}),
            (status{code::failed_precondition, "worker:0 is not connected"}));
}

TEST(drain, of_an_unknown_task_is_refused) {
  cluster c;
  c.attach();
  EXPECT_EQ(c.status_of(drain_task{{}, "worker", 1}),
            (status{code::not_found, "there is no task worker:1"}));
  EXPECT_EQ(c.status_of(drain_task{{}, "ps", 0}),
            (status{code::not_found, "there is no task ps:0"}));
}

TEST(drain, of_an_unknown_stream_is_ignored) {
  cluster c;
  EXPECT_EQ(c.step(worker_drain{stream_id{9}, true}), effects{});
}

TEST(drain, stale_closure_of_a_draining_worker_moves_to_another) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.step(worker_drain{w, false});
  c.fail(w, job[0], "gone", failure_kind::stale_handle);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  auto const other = c.attach();
  EXPECT_EQ(c.sent(other), job.closures);
}

TEST(drain, ends_when_the_worker_attaches_again) {
  cluster c;
  auto const w = c.attach({.incarnation = 1});
  c.step(worker_drain{w, false});
  c.leave(w);
  auto const again = c.attach({.incarnation = 1});
  EXPECT_FALSE(c.task(0).draining);
  auto const job = c.open({"f"});
  EXPECT_EQ(c.sent(again), job.closures);
}

}  // namespace
}  // namespace muster::core
