// Any answer but that of the holding stream and attempt disconnects the worker; its closures are
// requeued.
#include "server/core/records/closure_table.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

struct fencing : testing::Test {
  cluster c;
  stream_id const w = c.attach({.slots = 2, .credits = 2});
  opened const job = c.open({"f", "f", "f"});

  void expect_disconnected(std::string const& message) {
    EXPECT_EQ(c.fx().disconnects,
              (std::vector{disconnect{w, {code::invalid_argument, message}, false}}));
    EXPECT_EQ(c.state("worker", 0), task_state::error);
    EXPECT_EQ(c.task(0).error, message);
    EXPECT_EQ(c.task(0).running, 0u);
  }
  void expect_nothing_lost() {
    c.attach({.slots = 3, .credits = 3});
    for (auto const good : c.watch().streams())
      while (!c.held(good).empty()) c.succeed(good, c.held(good).front());
    EXPECT_EQ(c.job(job.id).state, job_state::succeeded);
    EXPECT_EQ(c.job(job.id).counts.succeeded, 3u);
  }
};

TEST_F(fencing, answer_to_a_nonexistent_closure_is_rejected) {
  auto r = c.good(w, closure_id{12345});
  c.answer(w, {r});
  expect_disconnected("worker:0 answered cl_0000000000003039, which is not assigned to it");
  expect_nothing_lost();
}

TEST_F(fencing, answer_to_a_queued_closure_is_rejected) {
  c.answer(w, {c.good(w, job[2])});
  expect_disconnected("worker:0 answered cl_0000000100000002, which is not assigned to it");
  expect_nothing_lost();
}

TEST_F(fencing, answer_to_a_closure_of_another_stream_is_rejected) {
  auto const other = c.attach();
  ASSERT_EQ(c.held(other), closures({job[2]}));
  c.answer(w, {c.good(w, job[2])});
  expect_disconnected("worker:0 answered cl_0000000100000002, which is not assigned to it");
  EXPECT_EQ(c.held(other), closures({job[2]}));
  c.succeed(other, job[2]);
  expect_nothing_lost();
}

TEST_F(fencing, answer_with_another_attempt_is_rejected) {
  auto r = c.good(w, job[0]);
  r.attempt = 2;
  c.answer(w, {r});
  expect_disconnected(
      "worker:0 answered attempt 2 of cl_0000000100000000, but its current attempt is 1");
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  expect_nothing_lost();
}

TEST_F(fencing, second_answer_to_the_same_closure_is_rejected) {
  c.answer(w, {c.good(w, job[0], "first"), c.good(w, job[0], "second"), c.good(w, job[1])});
  expect_disconnected("worker:0 answered cl_0000000100000000, which is not assigned to it");
  EXPECT_EQ(c.core.closures().find(job[0])->data, blob("first")) << "the first answer counts";
  EXPECT_EQ(c.state(job[1]), closure_state::queued) << "the second answer is ignored";
  expect_nothing_lost();
}

TEST_F(fencing, answer_from_before_a_requeue_is_rejected) {
  auto const stale = c.good(w, job[0], "stale");
  c.fail(w, job[0], "gone", failure_kind::stale_handle);
  ASSERT_EQ(c.held(w).back(), job[0]);
  c.answer(w, {stale});
  expect_disconnected(
      "worker:0 answered attempt 1 of cl_0000000100000000, but its current attempt is 2");
  expect_nothing_lost();
}

TEST_F(fencing, answer_with_the_id_of_a_removed_closure_is_rejected) {
  auto const s = c.stream();
  auto const other = c.attach({.functions = {"g"}});
  c.schedule(s, {"g"});
  auto const past = c.held(other).at(0);
  auto const again = c.good(other, past);
  c.answer(other, {again});
  c.schedule(s, {"g"});
  ASSERT_NE(c.held(other).at(0), past);
  EXPECT_EQ(closure_table::slot_of(c.held(other).at(0)), closure_table::slot_of(past));
  c.answer(other, {again});
  EXPECT_EQ(c.fx().disconnects.size(), 1u);
}

TEST_F(fencing, an_unknown_stream_is_ignored) {
  EXPECT_EQ(c.answer(stream_id{99}, {c.good(w, job[0])}), effects{});
  EXPECT_EQ(c.state(job[0]), closure_state::running);
}

}  // namespace
}  // namespace muster::core
