#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

struct transient : testing::Test {
  static config few() {
    config c;
    c.declared_jobs = {{"worker", 4}, {"ps", 2}};
    return c;
  }
  explicit transient(config const& settings = few()) : c(settings) {}

  worker_result gone(stream_id w, closure_id id, std::vector<std::string> names,
                     std::string message = "no answer") {
    auto r = c.bad(w, id, std::move(message), failure_kind::dependency_lost);
    r.failure->dependencies = std::move(names);
    return r;
  }
  /// Reports `names` as lost and waits until the closure runs again.
  void report(stream_id w, closure_id id, std::vector<std::string> names) {
    c.answer(w, {gone(w, id, std::move(names))});
    for (int i = 0; i < 100 && c.state(id) == closure_state::queued; ++i) {
      c.advance(100ms);
      c.alive(w);
    }
  }

  cluster c;
};

TEST_F(transient, lost_dependency_requeues_the_closure_and_keeps_the_worker) {
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.answer(w, {gone(w, job[0], {"ps:1"})});
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  EXPECT_EQ(c.task(0).state, task_state::connected);
  EXPECT_EQ(c.task(0).failed, 0u);
  EXPECT_EQ(c.core.closures().find(job[0])->attempts.at(0).outcome,
            (attempt_outcome{attempt_end::dependency_lost, "ps:1: no answer"}));
  EXPECT_EQ(
      c.said(),
      (std::vector{log_event{log_event_kind::dependency_lost, "ps:1",
                             "reported by worker:0, 1 of 3 times within 10 min: no answer"}}));
  c.advance(100ms);
  EXPECT_EQ(c.held(w), job.closures);
  c.succeed(w, job[0]);
  EXPECT_EQ(c.job(job.id).state, job_state::succeeded);
}

TEST_F(transient, attempt_that_lost_its_server_connection_counts_as_a_lost_worker) {
  auto const w = c.attach();
  session_spec limit;
  limit.max_worker_failures = 3;
  auto const job = c.open({"f"}, limit);
  auto const lose = [&] {
    auto r = c.bad(w, job[0], "blob ab cannot be fetched: refused", failure_kind::dependency_lost);
    r.failure->type = "muster::connection_lost";
    c.answer(w, {r});
    for (int i = 0; i < 100 && c.state(job[0]) == closure_state::queued; ++i) {
      c.advance(10ms);
      c.alive(w);
    }
  };
  lose();
  ASSERT_EQ(c.state(job[0]), closure_state::running) << "it is tried again";
  EXPECT_EQ(c.core.closures().find(job[0])->attempts.at(0).outcome,
            (attempt_outcome{attempt_end::dependency_lost,
                             "the connection of its worker to the server: blob ab cannot be "
                             "fetched: refused"}));
  lose();
  lose();
  auto const v = c.job(job.id);
  ASSERT_TRUE(v.error) << "and fails when it has reached the limit of lost workers";
  EXPECT_EQ(v.error->kind, failure_kind::worker_lost);
}

TEST_F(transient, third_report_of_one_dependency_is_fatal_and_names_it) {
  auto const w = c.attach();
  auto const job = c.open({"f", "f"});
  report(w, job[0], {"ps:1"});
  ASSERT_EQ(c.state(job[0]), closure_state::queued) << "its neighbour runs";
  c.answer(w, {gone(w, job[1], {"ps:1"})});
  c.advance(1s);
  auto const held = c.held(w).at(0);
  c.answer(w, {gone(w, held, {"ps:1"}, "connection refused")});
  auto const v = c.job(job.id);
  EXPECT_EQ(v.state, job_state::failed);
  ASSERT_TRUE(v.error);
  EXPECT_EQ(v.error->kind, failure_kind::dependency_lost);
  EXPECT_EQ(v.error->dependencies, names({"ps:1"}));
  EXPECT_EQ(v.error->message,
            "UNAVAILABLE: ps:1 is lost: reported 3 times within 10 min, the last by worker:0: "
            "connection refused");
}

TEST_F(transient, every_dependency_is_counted_and_the_error_names_only_fatal_ones) {
  auto const w = c.attach();
  auto const job = c.open({"f"});
  report(w, job[0], {"ps:0", "ps:1", "ps:1"});
  report(w, job[0], {"ps:1"});
  ASSERT_EQ(c.held(w), job.closures);
  c.answer(w, {gone(w, job[0], {"ps:0", "ps:1"})});
  EXPECT_EQ(c.job(job.id).error->dependencies, names({"ps:1"})) << "ps:0 was reported twice";
}

TEST_F(transient, reports_outside_the_window_are_forgotten) {
  auto const w = c.attach();
  auto const job = c.open({"f"});
  for (int i = 0; i < 6; ++i) {
    report(w, job[0], {"ps:1"});
    ASSERT_EQ(c.held(w), job.closures) << i;
    // Fewer than three reports within ten minutes.
    for (int s = 0; s < 62; ++s) c.advance(5s), c.alive(w);
  }
  EXPECT_EQ(c.job(job.id).state, job_state::running);
}

TEST_F(transient, sessions_count_separately) {
  auto const w = c.attach({.slots = 3, .credits = 3});
  for (int i = 0; i < 3; ++i) {
    auto const job = c.open({"f"});
    report(w, job[0], {"ps:1"});
    report(w, job[0], {"ps:1"});
    EXPECT_EQ(c.job(job.id).state, job_state::running);
  }
}

TEST_F(transient, invalid_dependency_names_are_user_errors) {
  struct {
    names said;
    std::string why;
  } const bad[] = {{{}, "it lists no dependencies"},
                   {{"ps"}, "'ps' is not a task name such as ps:1"},
                   {{"ps:x"}, "'ps:x' is not a task name such as ps:1"},
                   {{"ps:-1"}, "'ps:-1' is not a task name such as ps:1"},
                   {{"p s:1"}, "'p s:1' is not a task name such as ps:1"},
                   {{":1"}, "':1' is not a task name such as ps:1"},
                   {{"ps:0", "ps:2"}, "'ps:2': job 'ps' has only 2 tasks"},
                   {{"db:0"}, "'db:0': the cluster has no job 'db'"},
                   {names(65, "ps:0"), "it lists more than 64 dependencies"}};
  for (auto const& b : bad) {
    auto const w = c.attach();
    auto const job = c.open({"f"});
    c.answer(w, {gone(w, job[0], b.said)});
    auto const v = c.job(job.id);
    EXPECT_EQ(v.state, job_state::failed) << b.why;
    ASSERT_TRUE(v.error) << b.why;
    EXPECT_EQ(v.error->kind, failure_kind::user);
    EXPECT_EQ(v.error->type, "muster::invalid_dependency");
    EXPECT_EQ(v.error->message, "INVALID_ARGUMENT: the DEPENDENCY_LOST failure is invalid: " +
                                    b.why + "; its message: no answer");
    c.leave(w);
  }
}

TEST_F(transient, attached_task_is_a_valid_dependency_without_a_declaration) {
  c.attach({.functions = {}, .job = "db"});
  auto const w = c.attach();
  auto const job = c.open({"f"});
  report(w, job[0], {"db:0"});
  EXPECT_EQ(c.job(job.id).state, job_state::running);
}

struct first_is_fatal : transient {
  static config none() {
    config c;
    c.transient_dependency_failures = 0;
    return c;
  }
  first_is_fatal() : transient(none()) {}
};

TEST_F(first_is_fatal, any_task_is_a_valid_dependency_without_declared_jobs) {
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.answer(w, {gone(w, job[0], {"anything:7"})});
  EXPECT_EQ(c.job(job.id).error->dependencies, names({"anything:7"}));
}

TEST_F(transient, closure_asked_to_stop_is_cancelled_and_not_requeued) {
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.ask(cancel_closure{{}, job[0]});
  c.answer(w, {gone(w, job[0], {"ps:1"})});
  EXPECT_EQ(c.state(job[0]), closure_state::cancelled);
  EXPECT_EQ(c.core.closures().find(job[0])->error->message,
            "cancelled instead of running again: lost ps:1: no answer");
}

TEST_F(transient, session_that_continues_after_errors_keeps_its_counts) {
  auto const w = c.attach();
  auto const job = c.open({"f", "f"}, continue_all());
  for (int i = 0; i < 2; ++i) report(w, c.held(w).at(0), {"ps:1"});
  c.advance(10s);
  c.answer(w, {gone(w, c.held(w).at(0), {"ps:1"})});
  EXPECT_EQ(c.job(job.id).counts.failed, 1u);
  c.advance(5s);
  c.succeed(w, c.held(w).at(0));
  EXPECT_EQ(c.job(job.id).counts.succeeded, 1u);
}

struct timeouts : transient {
  static config three() {
    config c;
    c.transient_timeouts = 3;
    return c;
  }
  timeouts() : transient(three()) {}
};

TEST_F(timeouts, are_retried_until_the_limit) {
  auto const w = c.attach();
  auto const job = c.open({"f"});
  c.fail(w, job[0], "slow disk", failure_kind::timeout);
  EXPECT_EQ(c.held(w), job.closures) << "retried at once";
  EXPECT_EQ(c.core.closures().find(job[0])->attempts.at(0).outcome,
            (attempt_outcome{attempt_end::timed_out, "slow disk"}));
  c.fail(w, job[0], "slow disk", failure_kind::timeout);
  c.fail(w, job[0], "slow disk", failure_kind::timeout);
  EXPECT_EQ(c.job(job.id).state, job_state::failed);
  EXPECT_EQ(c.job(job.id).error->kind, failure_kind::timeout);
}

TEST_F(timeouts, timeouts_outside_the_window_are_not_counted) {
  auto const w = c.attach();
  auto const job = c.open({"f"});
  for (int i = 0; i < 6; ++i) {
    c.fail(w, job[0], "slow disk", failure_kind::timeout);
    ASSERT_EQ(c.held(w), job.closures);
    for (int s = 0; s < 61; ++s) c.advance(5s), c.alive(w);
  }
}

TEST_F(transient, timeout_is_fatal_below_ten_workers_and_a_tenth_is_tolerated_above) {
  std::vector<stream_id> w;
  for (int i = 0; i < 9; ++i) w.push_back(c.attach());
  auto const first = c.open({"f"});
  auto const busy = [&] {
    for (auto const s : w)
      if (!c.held(s).empty()) return s;
    return stream_id{};
  };
  c.fail(busy(), first[0], "slow", failure_kind::timeout);
  EXPECT_EQ(c.state(first[0]), closure_state::failed);
  for (int i = 0; i < 11; ++i) w.push_back(c.attach());
  auto const second = c.open({"f"});
  c.fail(busy(), second[0], "slow", failure_kind::timeout);
  EXPECT_EQ(c.state(second[0]), closure_state::running) << "two of twenty: the second is fatal";
  c.fail(busy(), second[0], "slow", failure_kind::timeout);
  EXPECT_EQ(c.state(second[0]), closure_state::failed);
}

}  // namespace
}  // namespace muster::core
