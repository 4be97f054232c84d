// Facts of an explanation; tests/core/words tests the text.
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace explain_cases {

TEST(explain, queued_without_any_worker) {
  cluster c;
  auto const job = c.open({"f"});
  c.wait(1'500ms);
  auto const why = c.why(job[0]);
  EXPECT_EQ(why.closure, job[0]);
  EXPECT_EQ(why.state, closure_state::queued);
  EXPECT_EQ(why.why, closure_reason::no_worker);
  EXPECT_EQ(why.lasted, 1'500ms);
  EXPECT_EQ(why.lack.value().function, "f");
  EXPECT_FALSE(why.lack.value().ever_had);
  c.wait(10s);
  EXPECT_EQ(c.why(job[0]).lasted, 11'500ms);
}

TEST(explain, queued_without_a_worker_that_has_the_function) {
  cluster c;
  c.attach({.functions = {"g"}});
  auto const job = c.open({"f"});
  EXPECT_EQ(c.why(job[0]).why, closure_reason::function_unseen);
  EXPECT_EQ(c.why(job[0]).lack.value().function, "f");
  c.attach({.functions = {"g"}});
  EXPECT_EQ(c.why(job[0]).why, closure_reason::function_unseen);
}

TEST(explain, queued_after_the_last_worker_with_the_function_has_left) {
  cluster c;
  auto const w = c.attach();
  c.attach({.functions = {"g"}});
  c.leave(w);
  auto const job = c.open({"f"});
  EXPECT_EQ(c.why(job[0]).why, closure_reason::function_absent);
  EXPECT_EQ(c.why(job[0]).lack.value().connected, 1u);
}

TEST(explain, queued_behind_others_also_when_the_workers_are_late) {
  cluster c;
  c.attach();
  c.attach();
  auto const job = c.open(names(5, "f"));
  for (auto const waited : {0s, 13s}) {
    c.advance(waited);
    auto const why = c.why(job[4]);
    EXPECT_EQ(why.why, closure_reason::busy);
    EXPECT_EQ(why.lasted, waited);
    EXPECT_EQ(why.function, "f");
    EXPECT_EQ(why.function_workers, 2u);
    EXPECT_EQ(why.function_queued, 3u);
    EXPECT_EQ(why.function_running, 2u);
  }
}

TEST(explain, queued_while_the_server_shuts_down) {
  cluster c;
  auto const job = c.open({"f"});
  c.step(stop{});
  EXPECT_EQ(c.why(job[0]).why, closure_reason::server_stops);
}

TEST(explain, running_and_asked_to_stop) {
  cluster c;
  c.attach();
  auto const job = c.open({"f"});
  c.wait(70ms);
  auto const why = c.why(job[0]);
  EXPECT_EQ(why.why, closure_reason::running);
  EXPECT_EQ(why.worker, "worker:0");
  EXPECT_EQ(why.lasted, 70ms);
  EXPECT_EQ(why.attempt, 1u);
  EXPECT_FALSE(why.stop_requested);
  c.ask(cancel_closure{{}, job[0]});
  EXPECT_TRUE(c.why(job[0]).stop_requested);
}

TEST(explain, moved_from_a_lost_worker) {
  cluster c;
  auto const job = c.open({"f"});
  c.lose(c.attach(), "cut");
  c.wait(2s);
  auto const expect_moved = [&](closure_reason reason, duration ago) {
    auto const why = c.why(job[0]);
    EXPECT_EQ(why.why, reason);
    EXPECT_EQ(why.lost_attempt, 1u);
    EXPECT_EQ(why.lost_worker, "worker:0");
    EXPECT_EQ(why.lost_ago, ago);
    EXPECT_EQ(why.lost, (attempt_outcome{attempt_end::worker_lost, "cut"}));
    return why;
  };
  EXPECT_TRUE(expect_moved(closure_reason::no_worker, 2s).lack.value().ever_had);
  auto const w = c.attach();
  EXPECT_EQ(expect_moved(closure_reason::running, 2s).attempt, 2u);
  c.wait(5ms);
  c.succeed(w, job[0]);
  auto const ended = expect_moved(closure_reason::succeeded, 2'005ms);
  EXPECT_EQ(ended.worker, "worker:1");
  EXPECT_EQ(ended.lasted, 5ms);
}

TEST(explain, failed_and_cancelled) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f"});
  c.fail(w, job[0], "division by zero");
  auto const failed = c.why(job[0]);
  EXPECT_EQ(failed.why, closure_reason::failed);
  EXPECT_EQ(failed.error.value().kind, failure_kind::user);
  EXPECT_EQ(failed.error.value().worker, "worker:0");
  EXPECT_EQ(failed.error.value().message, "division by zero");
  auto const cancelled = c.why(job[1]);
  EXPECT_EQ(cancelled.why, closure_reason::cancelled);
  EXPECT_EQ(cancelled.error.value().kind, failure_kind::cancelled);
}

TEST(explain, unknown) {
  cluster c;
  EXPECT_EQ(
      c.core.closures().explain(closure_id{1}, c.now()).error(),
      (status{code::not_found, "there is no cl_0000000000000001, or its value was released"}));
}

}  // namespace explain_cases
}  // namespace muster::core
