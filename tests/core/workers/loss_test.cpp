#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

TEST(loss, held_closures_return_to_the_head_in_their_old_order) {
  cluster c;
  auto const w = c.attach({.slots = 3, .credits = 3});
  auto const job = c.open({"f", "f", "f", "f", "f"});
  c.lose(w);
  auto const next = c.attach({.slots = 5, .credits = 5});
  EXPECT_EQ(c.sent(next), job.closures);
  EXPECT_EQ(c.job(job.id).requeued, 3u);
  EXPECT_EQ(c.core.overview(c.now()).requeued, 3u);
}

TEST(loss, of_several_functions_and_sessions_keeps_the_order_of_each) {
  cluster c;
  auto const w = c.attach({.functions = {"f", "g"}, .slots = 4, .credits = 4});
  auto const a = c.open({"f", "g", "f"});
  auto const b = c.open({"g", "f"});
  c.lose(w);
  auto const next = c.attach({.functions = {"f", "g"}, .slots = 5, .credits = 5});
  closures of_a, of_b;
  for (auto const id : c.sent(next))
    (c.core.closures().find(id)->job == a.id ? of_a : of_b).push_back(id);
  EXPECT_EQ(of_a, a.closures);
  EXPECT_EQ(of_b, b.closures);
}

TEST(loss, closures_move_to_other_workers_at_once) {
  cluster c;
  auto const a = c.attach();
  auto const b = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open({"f", "f"});
  ASSERT_EQ(c.held(a), closures({job[0]}));
  c.lose(a);
  EXPECT_EQ(c.fx().assignments, (std::vector{assignment{job[0], 2, c.function("f"), blob("1")}}));
  EXPECT_EQ(c.held(b), closures({job[1], job[0]}));
}

TEST(loss, is_written_in_the_history_of_the_closure) {
  cluster c;
  auto const w = c.attach({.incarnation = 7, .host = "h7"});
  auto const job = c.open({"f"});
  c.wait(2s);
  c.lose(w, "kernel panic");
  auto const history = c.core.closures().find(job[0])->attempts;
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0].attempt, 1u);
  EXPECT_EQ(history[0].worker, "worker:0");
  EXPECT_EQ(history[0].incarnation, incarnation{7});
  EXPECT_EQ(history[0].host, "h7");
  EXPECT_EQ(history[0].started, start);
  EXPECT_EQ(history[0].ended, start + 2s);
  EXPECT_EQ(history[0].outcome, (attempt_outcome{attempt_end::worker_lost, "kernel panic"}));
}

TEST(loss, row_shows_the_reason_and_the_time) {
  cluster c;
  auto const w = c.attach();
  c.open({"f"});
  c.wait(2s);
  c.lose(w, "kernel panic");
  auto const t = c.task(0);
  EXPECT_EQ(t.state, task_state::error);
  EXPECT_EQ(t.error, "kernel panic");
  EXPECT_EQ(t.since, start + 2s);
  EXPECT_EQ(t.running, 0u);
}

TEST(loss, closure_asked_to_stop_is_cancelled_and_not_requeued) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open({"f", "f"});
  c.ask(cancel_closure{{}, job[0]});
  c.lose(w);
  EXPECT_EQ(c.state(job[0]), closure_state::cancelled);
  EXPECT_EQ(c.core.closures().find(job[0])->error->message,
            "cancelled; its worker was lost before it answered");
  EXPECT_EQ(c.state(job[1]), closure_state::queued);
  EXPECT_EQ(c.core.overview(c.now()).requeued, 1u);
}

TEST(loss, requeued_closures_do_not_count_against_the_capacity) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto job = continue_all();
  job.queue_capacity = 2;
  auto const a = c.open({"f", "f"}, left_open(job));
  c.append(a.id, {"f", "f"});
  c.lose(w);
  EXPECT_EQ(c.job(a.id).counts.queued, 4u);
}

TEST(loss, of_an_unknown_stream_is_ignored) {
  cluster c;
  c.open({"f"});
  EXPECT_EQ(c.lose(stream_id{99}), effects{});
}

TEST(loss, only_the_newest_sixteen_lost_attempts_are_kept) {
  cluster c;
  auto spec = fail_fast();
  spec.unlimited_worker_failures = true;
  auto const job = c.open({"f"}, spec);
  for (int i = 0; i < 20; ++i) c.lose(c.attach({.index = i}), "loss " + std::to_string(i));
  auto const history = c.core.closures().find(job[0])->attempts;
  ASSERT_EQ(history.size(), 16u);
  EXPECT_EQ(history.front().attempt, 5u);
  EXPECT_EQ(history.front().worker, "worker:4");
  EXPECT_EQ(history.back().outcome, (attempt_outcome{attempt_end::worker_lost, "loss 19"}));
}

}  // namespace
}  // namespace muster::core
