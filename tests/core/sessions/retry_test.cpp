#include "tests/core/fixture.hpp"

namespace muster::core {

std::string text(session_id id);  // defined by the coordinator
namespace {

closure_spec with_args(cluster& c, std::string_view args, std::vector<input_ref> inputs = {}) {
  closure_spec s;
  s.function = c.function("f");
  s.args = blob(args);
  if (!inputs.empty()) {
    auto x = std::make_shared<closure_extras>();
    x->inputs = std::move(inputs);
    s.extras = std::move(x);
  }
  return s;
}

struct job_retry : testing::Test {
  cluster c;
  stream_id w = c.attach({.slots = 8, .credits = 8});

  reply ask(session_id id, std::string name = {}) {
    return c.reply_to_event(retry_job{{}, id, std::move(name)});
  }
  opened again(session_id id, std::string name = {}) {
    auto const r = ask(id, std::move(name));
    EXPECT_EQ(r.status, status{});
    auto const* body = std::get_if<session_reply>(&r.body);
    return body ? opened{body->session, body->closures} : opened{};
  }
  std::string refusal(session_id id) {
    auto const r = ask(id);
    EXPECT_EQ(r.status.code, code::failed_precondition);
    return r.status.message;
  }
};

TEST_F(job_retry, failed_and_cancelled_closures_run_again_with_their_arguments) {
  auto spec = continue_all();
  spec.name = "nightly";
  spec.idempotency_key = "once";
  auto const job = c.open_with(
      {with_args(c, "[0]"), with_args(c, "[1]"), with_args(c, "[2]"), with_args(c, "[3]")}, spec);
  c.succeed(w, job[0]);
  c.fail(w, job[1]);
  c.status_of(cancel_closure{{}, job[2]});
  c.fail(w, job[2], "stopped", failure_kind::cancelled);
  EXPECT_EQ(refusal(job.id), text(job.id) + " has not ended");
  EXPECT_FALSE(c.job(job.id).retryable);
  c.succeed(w, job[3]);
  EXPECT_TRUE(c.job(job.id).retryable);
  auto const fresh = again(job.id);
  ASSERT_EQ(c.fx().assignments.size(), 2u);
  EXPECT_EQ(c.fx().assignments[0].args.view(), "[1]");
  EXPECT_EQ(c.fx().assignments[1].args.view(), "[2]");
  EXPECT_EQ(c.job(fresh.id).retry_of, job.id);
  EXPECT_EQ(c.job(fresh.id).name, "nightly");
  EXPECT_EQ(c.job(fresh.id).on_error, on_error::continue_all);
  for (auto const id : fresh.closures) c.succeed(w, id);
  EXPECT_EQ(c.job(fresh.id).state, job_state::succeeded);
  EXPECT_EQ(c.job(job.id).state, job_state::failed) << "it is unchanged";
  EXPECT_EQ(c.job(again(job.id, "second").id).name, "second");
}

TEST_F(job_retry, rejection_contains_the_reason) {
  auto const job = c.open({"f"});
  c.succeed(w, job[0]);
  EXPECT_EQ(refusal(job.id), "no closure of " + text(job.id) + " failed or was cancelled");
  auto const s = c.stream();
  EXPECT_EQ(
      refusal(s),
      text(s) +
          " is a session, and only jobs can be retried; submit the calls again from its client");
  EXPECT_EQ(ask(session_id{77}).status.code, code::not_found);
}

TEST_F(job_retry, inputs_are_existing_values_or_closures_that_run_again) {
  auto const job = c.open_with(
      {with_args(c, "[1]"), with_args(c, "[2]"), with_args(c, "[]", {{{}, 0, 1}, {{}, 1, 1}})},
      continue_all());
  c.succeed(w, job[0], "10");
  c.fail(w, job[1]);
  EXPECT_EQ(c.job(job.id).counts.failed, 2u);
  auto const fresh = again(job.id);
  ASSERT_EQ(fresh.closures.size(), 2u);
  EXPECT_EQ(c.core.closures().find(fresh[1])->inputs, (closures{job[0], fresh[0]}));
  c.succeed(w, fresh[0], "20");
  ASSERT_EQ(c.fx().assignments.size(), 1u);
  auto const& inputs = *c.fx().assignments[0].inputs;
  EXPECT_EQ(inputs[0].view(), "10");
  EXPECT_EQ(inputs[1].view(), "20");
}

TEST_F(job_retry, failed_or_removed_input_of_another_job_is_named) {
  auto const source = c.open({"f"});
  c.succeed(w, source[0], "10");
  auto const job = c.open_with({with_args(c, "[]", {{source[0], 0, 1}})});
  c.fail(w, job[0]);
  ASSERT_TRUE(c.status_of(delete_session{{}, source.id}).ok());
  EXPECT_NE(refusal(job.id).find("closure 0 of " + text(job.id) + " cannot run again: "),
            std::string::npos);
}

TEST_F(job_retry, a_retry_can_be_retried) {
  auto const job = c.open_with({with_args(c, "[1]")});
  c.fail(w, job[0]);
  auto const second = again(job.id);
  c.fail(w, second[0]);
  auto const third = again(second.id);
  EXPECT_EQ(c.job(third.id).retry_of, second.id);
  EXPECT_EQ(c.fx().assignments.at(0).args.view(), "[1]");
}

TEST(retry_limit, the_job_that_ended_first_loses_its_arguments) {
  config small;
  small.retry_bytes_max = 25;
  cluster c(small);
  auto const w = c.attach();
  auto const fail_one = [&] {
    auto const job = c.open_with({with_args(c, "[123456789]")});
    c.fail(w, job[0]);
    return job.id;
  };
  auto const first = fail_one(), second = fail_one();
  EXPECT_TRUE(c.job(first).retryable);
  auto const third = fail_one();
  EXPECT_FALSE(c.job(first).retryable);
  EXPECT_TRUE(c.job(second).retryable);
  EXPECT_TRUE(c.job(third).retryable);
  auto const told = c.status_of(retry_job{{}, first, {}});
  EXPECT_EQ(told.code, code::failed_precondition);
  EXPECT_EQ(told.message, "the arguments of " + text(first) +
                              " are no longer stored: for retries, the server stores at most 25 "
                              "bytes of arguments, from the newest jobs");
  ASSERT_TRUE(c.status_of(delete_session{{}, second}).ok());
  fail_one();
  EXPECT_TRUE(c.job(third).retryable) << "deleted jobs make room";
}

}  // namespace
}  // namespace muster::core
