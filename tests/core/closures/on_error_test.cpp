#include "server/core/api/id_text.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

TEST(fail_fast, first_error_cancels_queued_closures_and_stops_running_ones) {
  cluster c;
  auto const a = c.attach();
  auto const b = c.attach();
  auto const job = c.open({"f", "f", "f", "g"});
  c.fail(a, job[0], "first");
  EXPECT_EQ(c.state(job[0]), closure_state::failed);
  EXPECT_EQ(c.fx().stop_requests, (std::vector{stop_request{b, job[1], 1}}));
  for (auto const queued : {job[2], job[3]}) {
    EXPECT_EQ(c.state(queued), closure_state::cancelled);
    EXPECT_EQ(
        c.core.closures().find(queued)->error,
        (failure{failure_kind::cancelled, "",
                 "cancelled because call " + text(job[0]) + " (f) failed: first (on worker:0)", "",
                 "", 0}));
  }
  EXPECT_EQ(c.state(job[1]), closure_state::running);
  EXPECT_TRUE(c.core.closures().find(job[1])->cancel_requested);
  EXPECT_EQ(c.held(a), closures{}) << "none of its closures is sent";
}

TEST(fail_fast, a_running_closure_that_is_stopped_for_an_error_names_that_error) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open({"f", "f"});
  auto const message = "first " + std::string(300, 'x');
  c.fail(w, job[0], message);
  c.fail(w, job[1], "closure 2 was asked to stop", failure_kind::cancelled);
  auto const error = c.core.closures().find(job[1])->error;
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, failure_kind::cancelled);
  EXPECT_EQ(error->message, "cancelled because call " + text(job[0]) +
                                " (f) failed: " + message.substr(0, 80) + "… (on worker:0)");
}

TEST(fail_fast, error_that_begins_with_empty_lines_is_quoted_from_its_first_line) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open({"f", "f"});
  c.fail(w, job[0], "\r\n\nArrays are not equal\nMismatch");
  c.fail(w, job[1], "closure 2 was asked to stop", failure_kind::cancelled);
  EXPECT_EQ(
      c.core.closures().find(job[1])->error->message,
      "cancelled because call " + text(job[0]) + " (f) failed: Arrays are not equal (on worker:0)");
}

TEST(fail_fast, a_running_closure_that_its_user_cancels_keeps_the_message_of_its_worker) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.ask(cancel_session{{}, job.id});
  c.fail(w, job[0], "it was asked to stop", failure_kind::cancelled);
  EXPECT_EQ(c.core.closures().find(job[0])->error->message, "it was asked to stop");
}

TEST(fail_fast, job_fails_only_after_its_last_running_closure_has_ended) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open({"f", "f"});
  c.fail(w, job[0], "first");
  EXPECT_EQ(c.job(job.id).state, job_state::running);
  EXPECT_TRUE(c.job(job.id).stopping);
  EXPECT_EQ(c.job(job.id).error->message, "first");
  c.fail(w, job[1], "stopped", failure_kind::cancelled);
  EXPECT_EQ(c.job(job.id).state, job_state::failed);
  EXPECT_FALSE(c.job(job.id).stopping);
  EXPECT_EQ(c.job(job.id).counts, (closure_counts{0, 0, 0, 0, 1, 1}));
}

TEST(fail_fast, job_keeps_its_first_error) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open({"f", "f"});
  c.answer(w, {c.bad(w, job[1], "first"), c.bad(w, job[0], "second")});
  EXPECT_EQ(c.job(job.id).error->message, "first");
  EXPECT_EQ(c.job(job.id).counts.failed, 2u);
}

TEST(fail_fast, a_worker_lost_while_the_job_stops_does_not_bring_closures_back) {
  cluster c;
  auto const a = c.attach();
  auto const b = c.attach();
  auto const job = c.open({"f", "f"});
  c.fail(a, job[0]);
  c.lose(b);
  EXPECT_EQ(c.state(job[1]), closure_state::cancelled);
  EXPECT_EQ(c.job(job.id).state, job_state::failed);
}

TEST(fail_fast, an_open_job_that_fails_is_sealed) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f"}, left_open());
  c.fail(w, job[0]);
  EXPECT_EQ(c.job(job.id).state, job_state::failed);
  EXPECT_FALSE(c.job(job.id).open);
}

TEST(fail_fast, stops_workers_in_the_order_of_their_attach) {
  cluster c;
  std::vector<stream_id> w;
  for (int i = 0; i < 12; ++i) w.push_back(c.attach());
  auto const job = c.open(names(12, "f"));
  c.fail(w[5], c.held(w[5])[0]);
  std::vector<stream_id> asked;
  for (auto const& s : c.fx().stop_requests) asked.push_back(s.stream);
  std::erase(w, w[5]);
  EXPECT_EQ(asked, w);
}

TEST(fail_fast, closure_being_stopped_receives_no_second_stop_request) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open({"f", "f"});
  c.ask(cancel_closure{{}, job[1]});
  EXPECT_EQ(c.fx().stop_requests.size(), 1u);
  c.fail(w, job[0]);
  EXPECT_TRUE(c.fx().stop_requests.empty());
}

TEST(continue_on_error, runs_everything_and_fails_at_the_end) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f", "f"}, continue_all());
  c.fail(w, job[0], "first");
  EXPECT_TRUE(c.fx().stop_requests.empty());
  EXPECT_FALSE(c.job(job.id).stopping);
  c.fail(w, job[1], "second");
  EXPECT_EQ(c.job(job.id).state, job_state::running);
  c.succeed(w, job[2]);
  EXPECT_EQ(c.job(job.id).state, job_state::failed);
  EXPECT_EQ(c.job(job.id).error->message, "first");
  EXPECT_EQ(c.job(job.id).counts, (closure_counts{0, 0, 0, 1, 2, 0}));
}

}  // namespace
}  // namespace muster::core
