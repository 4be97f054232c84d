#include "tests/core/programs/fixture.hpp"

namespace muster::core::programs {
namespace {

TEST(program_causes, include_earlier_errors_of_the_coordination_service) {
  bench b;
  auto const w = b.attach(0);
  auto spec = of_workers(2);
  spec.max_restarts = 1;
  auto const p = b.submit(spec);
  b.run(w, p, 1, {0, 1});
  coordination_failure const told{code::deadline_exceeded, {}, "barrier 'b' was not met\nin 10 s"};
  b.step([&] { b.core->coordination_failed({p, 1, told}); });
  EXPECT_EQ(b.state(p), program_state::running) << "the program can tolerate it";
  b.end(w, p, 1, 0, 6);
  b.step([&] { b.core->coordination_failed({p, 1, {code::aborted, "worker:0", "stopped"}}); });
  b.end(w, p, 1, 1, 0, true);
  auto const attempt = b.core->attempts_of(p).value().at(0);
  ASSERT_TRUE(attempt.cause);
  EXPECT_EQ(attempt.cause->coordination, told) << "errors of stopped ranks are not";
  EXPECT_EQ(attempt.cause->text,
            "rank 0 on worker:0 (host0): exit status 6; the coordination service had reported: "
            "barrier 'b' was not met");
  ASSERT_EQ(b.find(p).attempt, 2u);
  b.step([&] { b.core->coordination_failed({p, 1, told}); });
  b.run(w, p, 2, {0, 1});
  b.end(w, p, 2, 0, 7);
  EXPECT_FALSE(b.find(p).cause->coordination) << "of the previous attempt";
}

// Rank 1 failed and waits; rank 0 is notified and ends first.
TEST(program_causes, name_the_task_that_failed_rather_than_the_first_to_exit) {
  bench b;
  auto const w = b.attach(0), other = b.attach(1);
  auto spec = of_workers(2);
  spec.max_restarts = 1;
  spec.per_worker = 1;
  auto const p = b.submit(spec);
  b.run(w, p, 1, {0});
  b.run(other, p, 1, {1});
  coordination_failure const told{code::internal, "worker:1", "loss is NaN"};
  b.step([&] { b.core->coordination_failed({p, 1, told}); });
  b.end(w, p, 1, 0, 1);
  auto cause = *b.find(p).cause;
  EXPECT_EQ(cause.kind, cause_kind::coordination);
  EXPECT_EQ(cause.rank, 1);
  EXPECT_EQ(cause.host, "host1") << "this host is avoided if it fails again";
  EXPECT_EQ(cause.text,
            "rank 1 on worker:1 (host1): loss is NaN; rank 0 on worker:0 (host0) ended after that: "
            "exit status 1");
  EXPECT_EQ(cause.coordination, told);
  b.report(other, {}, {{.name = {p, 1, 1}, .exit_status = 5, .stderr_lines = {"NaN"}}});
  cause = *b.core->attempts_of(p).value().at(0).cause;
  EXPECT_EQ(cause.exit_status, 5u) << "its own, although it ended later";
  EXPECT_EQ(cause.stderr_lines, std::vector<std::string>{"NaN"});
  EXPECT_EQ(b.find(p).restarts, 1u);
}

TEST(program_causes, name_the_rank_itself_when_it_reported_the_error) {
  bench b;
  auto const w = b.attach(0);
  auto const p = b.submit(of_workers(2));
  b.run(w, p, 1, {0, 1});
  b.step([&] { b.core->coordination_failed({p, 1, {code::internal, "worker:1", "NaN"}}); });
  b.end(w, p, 1, 1, 5);
  EXPECT_EQ(
      b.find(p).cause->text,
      "rank 1 on worker:0 (host0): exit status 5; the coordination service had reported: NaN");
}

// The process of rank 1 returns from main() while the others wait for it.
TEST(program_causes, name_the_task_that_exited_without_disconnecting) {
  bench b;
  auto const w = b.attach(0);
  auto const p = b.submit(of_workers(2));
  b.run(w, p, 1, {0, 1});
  b.end(w, p, 1, 1, 0);
  b.step([&] { b.core->coordination_failed({p, 1, {code::unavailable, "worker:1", "gone"}}); });
  b.end(w, p, 1, 0, 1);
  auto const cause = *b.find(p).cause;
  EXPECT_EQ(cause.kind, cause_kind::coordination);
  EXPECT_EQ(cause.rank, 1);
  EXPECT_EQ(cause.text,
            "rank 1 on worker:0 (host0): exited with status 0 without disconnecting from the "
            "coordination service; rank 0 on worker:0 (host0) ended after that: exit status 1");
}

TEST(program_causes, mention_the_rank_that_exited_first) {
  bench b;
  auto const w = b.attach(0);
  auto const p = b.submit(of_workers(3));
  b.run(w, p, 1, {0, 1, 2});
  b.end(w, p, 1, 2, 0);
  b.advance_in_touch(1200ms);
  b.end(w, p, 1, 1, 0);
  b.advance_in_touch(700ms);
  b.end(w, p, 1, 0, 1);
  EXPECT_EQ(b.find(p).cause->rank, 0);
  EXPECT_EQ(b.find(p).cause->text,
            "rank 0 on worker:0 (host0): exit status 1; rank 2 on worker:0 (host0) had exited with "
            "status 0 1.9 s before");
}

TEST(program_causes, rank_without_its_upload_is_lost_and_not_failed) {
  bench b;
  auto const w = b.attach(0);
  auto const p = b.submit(of_workers(1));
  b.report(w, {}, {{.name = {p, 1, 0}, .not_started = "no upload", .stopped = true}});
  auto const first = b.core->attempts_of(p).value().at(0);
  EXPECT_EQ(first.end, program_end::lost);
  EXPECT_EQ(first.cause->kind, cause_kind::not_started);
  EXPECT_EQ(first.cause->text, "rank 0 on worker:0 (host0): could not be started: no upload");
  EXPECT_EQ(b.find(p).attempt, 2u);
  EXPECT_EQ(b.find(p).restarts, 0u);
}

hang some_hang() {
  hang h;
  h.evidence = hang_evidence::stack;
  h.rank = 1;
  h.task = "worker:1";
  h.host = "host0";
  h.line = "train.py:12 in step";
  h.waits = 3;
  h.waiting_line = "train.py:40 in reduce";
  h.since = time_point{} + 1h;
  h.found = h.since + 2'340ms;
  return h;
}

struct hangs_of_programs : testing::Test {
  void begin(hang_policy what, std::uint32_t max_restarts) {
    auto spec = of_workers(2);
    spec.on_hang = what;
    spec.max_restarts = max_restarts;
    w = b.attach(0);
    p = b.submit(spec);
    b.run(w, p, 1, {0, 1});
  }
  void hang_in(std::uint32_t attempt) {
    b.step([&] { b.core->hangs(b.now, {p, attempt, some_hang()}); });
  }
  bench b;
  stream_id w{};
  program_id p{};
};

TEST_F(hangs_of_programs, end_the_attempt_hung_and_count_as_failures) {
  begin(hang_policy::restart, 1);
  hang_in(2);
  EXPECT_EQ(b.state(p), program_state::running) << "there is no such attempt";
  hang_in(1);
  EXPECT_EQ(b.state(p), program_state::restarting);
  hang_in(1);
  for (std::uint32_t rank : {0u, 1u}) b.end(w, p, 1, rank, 0, true);
  auto const first = b.core->attempts_of(p).value().at(0);
  EXPECT_EQ(first.end, program_end::hung);
  EXPECT_EQ(name(first.end), "HUNG");
  ASSERT_TRUE(first.cause);
  EXPECT_EQ(first.cause->kind, cause_kind::hang);
  EXPECT_EQ(name(first.cause->kind), "HANG");
  EXPECT_EQ(first.cause->rank, 1);
  EXPECT_EQ(first.cause->hang, some_hang());
  EXPECT_EQ(
      first.cause->text,
      "rank 1 on host0 blocks the others: it is at a different place in the code than the waiting "
      "ranks, at train.py:12 in "
      "step; 3 "
      "ranks are waiting at train.py:40 in reduce; detected after 2.3 s");
  ASSERT_EQ(b.find(p).attempt, 2u);
  EXPECT_EQ(b.find(p).restarts, 1u);
  b.run(w, p, 2, {0, 1});
  hang_in(2);
  for (std::uint32_t rank : {0u, 1u}) b.end(w, p, 2, rank, 0, true);
  EXPECT_EQ(b.state(p), program_state::failed);
}

// A rank of JAX that has raised an exception waits in JAX's shutdown, and its output contains the
// exception.
TEST_F(hangs_of_programs, cause_contains_the_output_of_the_named_rank_only) {
  begin(hang_policy::restart, 1);
  hang_in(1);
  b.report(w, {}, {{.name = {p, 1, 0}, .signal = 15, .stderr_lines = {"of another rank"}}});
  b.report(w, {},
           {{.name = {p, 1, 1}, .exit_status = 1, .stopped = true, .stderr_lines = {"NaN"}}});
  auto const cause = b.core->attempts_of(p).value().at(0).cause;
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->stderr_lines, std::vector<std::string>{"NaN"});
  EXPECT_EQ(cause->exit_status, 0u) << "Muster has stopped the rank";
}

TEST_F(hangs_of_programs, abort_policy_fails_the_program_despite_remaining_restarts) {
  begin(hang_policy::abort, 3);
  hang_in(1);
  EXPECT_EQ(b.state(p), program_state::stopping);
  for (std::uint32_t rank : {0u, 1u}) b.end(w, p, 1, rank, 0, true);
  EXPECT_EQ(b.state(p), program_state::failed);
  EXPECT_EQ(b.find(p).cause->kind, cause_kind::hang);
}

TEST_F(hangs_of_programs, report_only_policy_does_not_stop_the_program) {
  begin(hang_policy::tell, 3);
  hang_in(1);
  EXPECT_EQ(b.state(p), program_state::running);
}

TEST(programs_that_may_hang, hang_timeout_is_at_least_one_second) {
  bench b;
  auto spec = of_workers(1);
  spec.hang_after = 999ms;
  auto const refused = b.step([&] { return b.core->submit(b.now, spec); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "hang_after");
}

}  // namespace
}  // namespace muster::core::programs
