#include "server/core/texts/explanation_texts.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

session_spec limited(std::uint32_t losses) {
  auto spec = resumable_values();
  spec.max_worker_failures = losses;
  return spec;
}
session_spec unlimited() {
  auto spec = resumable_values();
  spec.unlimited_worker_failures = true;
  return spec;
}

/// `kill` ends the process that runs a closure.
struct of_a_session {
  cluster c;
  session_id session;

  explicit of_a_session(session_spec spec = resumable_values(), config server = {},
                        cluster::loss_pauses pauses = cluster::loss_pauses::none)
      : c(std::move(server), pauses), session(c.open({}, std::move(spec)).id) {}

  closure_id schedule(bool own_error = false, closure_options o = {}) {
    auto work = c.specs({"f"});
    auto const token = work[0].token;
    work[0].own_error = own_error;
    if (o != closure_options{})
      work[0].extras = std::make_shared<closure_extras>(closure_extras{std::move(o), {}});
    c.step(core::schedule{{}, session, std::move(work)});
    return c.core.closure_of(session, token);
  }
  closure_id submit() { return schedule(true); }
  void kill(closure_id id, std::string const& how = "its process 7 exited with status 1") {
    c.end_process(c.attach(), id, how);
  }
  failure error_of(closure_id id) const { return c.core.closures().find(id)->error.value(); }
};

struct losses : testing::Test, of_a_session {};

TEST_F(losses, third_lost_connection_to_the_server_fails_a_submitted_closure) {
  auto const f = submit();
  auto const w = c.attach();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(c.state(f), closure_state::running) << i;
    auto r = c.bad(w, f, "blob ab cannot be fetched: refused", failure_kind::dependency_lost);
    r.failure->type = "muster::connection_lost";
    c.answer(w, {r});
    for (int n = 0; n < 100 && c.state(f) == closure_state::queued; ++n) {
      c.advance(100ms);
      c.alive(w);
    }
  }
  ASSERT_EQ(c.state(f), closure_state::failed);
  EXPECT_EQ(error_of(f).kind, failure_kind::worker_lost);
}

TEST_F(losses, third_ended_process_fails_a_closure_and_reports_each_end) {
  auto const f = submit();
  kill(f);
  kill(f);
  EXPECT_EQ(c.state(f), closure_state::queued);
  kill(f, "its process 9 was killed by SIGKILL, perhaps out of memory");
  ASSERT_EQ(c.state(f), closure_state::failed);
  EXPECT_EQ(error_of(f).kind, failure_kind::worker_lost);
  EXPECT_EQ(error_of(f).message,
            "3 workers were lost while they ran it, and max_worker_failures is 3: worker:0 (its "
            "process 7 exited with status 1), worker:1 (its process 7 exited with status 1), "
            "worker:2 (its process 9 was killed by SIGKILL, perhaps out of memory)");
}

TEST_F(losses, third_lost_worker_fails_a_submitted_closure) {
  auto const f = submit();
  for (int i = 0; i < 2; ++i) c.lose(c.attach());
  EXPECT_EQ(c.state(f), closure_state::queued);
  c.lose(c.attach());
  EXPECT_EQ(c.state(f), closure_state::failed);
}

TEST_F(losses, lost_workers_and_ended_processes_of_a_submitted_closure_add_up) {
  auto const f = submit();
  kill(f);
  c.lose(c.attach());
  kill(f);
  EXPECT_EQ(c.state(f), closure_state::failed);
}

TEST_F(losses, scheduled_closure_survives_lost_workers_and_fails_with_its_third_process) {
  auto const f = schedule(false);
  for (int i = 0; i < 9; ++i) c.lose(c.attach());
  kill(f);
  kill(f);
  EXPECT_EQ(c.state(f), closure_state::queued);
  c.lose(c.attach());
  EXPECT_EQ(c.state(f), closure_state::queued);
  kill(f);
  ASSERT_EQ(c.state(f), closure_state::failed);
  EXPECT_TRUE(error_of(f).message.starts_with("3 workers were lost while they ran it"));
  EXPECT_EQ(error_of(f).message.find("connection lost"), std::string::npos)
      << "only losses that count are listed: " << error_of(f).message;
}

TEST(losses_limits, limits_of_a_session_count_all_losses_of_all_its_closures) {
  for (bool const own_error : {false, true}) {
    of_a_session s(limited(2));
    auto const f = s.schedule(own_error);
    s.c.lose(s.c.attach());
    EXPECT_EQ(s.c.state(f), closure_state::queued);
    s.kill(f);
    EXPECT_EQ(s.c.state(f), closure_state::failed);
  }
}

TEST(losses_limits, explicit_zero_means_unlimited) {
  of_a_session s(unlimited());
  auto const f = s.submit();
  for (int i = 0; i < 300; ++i) s.kill(f);
  EXPECT_EQ(s.c.state(f), closure_state::queued);
}

TEST(losses_limits, default_is_the_limit_of_the_server) {
  config server;
  server.max_worker_failures = 1;
  of_a_session s(resumable_values(), server);
  auto const f = s.submit();
  s.c.lose(s.c.attach());
  EXPECT_EQ(s.c.state(f), closure_state::failed);
}

TEST_F(losses, process_end_is_counted_only_for_the_closure_it_executed) {
  auto const w = c.attach({.credits = 8});
  auto const bad = submit();
  auto const behind = submit();
  auto const more = submit();
  c.end_process(w, bad, "its process 7 exited with status 1");
  EXPECT_EQ(c.core.workers().find("worker", 0)->error, "its process 7 exited with status 1");
  for (auto const id : {behind, more}) EXPECT_EQ(c.why(id).losses, 0u);
  EXPECT_EQ(c.core.closures().find(bad)->attempts.size(), 1u);
}

TEST_F(losses, process_that_executed_nothing_is_not_counted) {
  auto const f = submit();
  for (int i = 0; i < 5; ++i) {
    auto const w = c.attach();
    worker_disconnected e{w, false, "its process 7 was killed by SIGTERM"};
    e.process_ended.emplace();
    c.step(std::move(e));
  }
  EXPECT_EQ(c.state(f), closure_state::queued);
}

TEST_F(losses, worker_that_was_draining_is_not_counted) {
  auto const f = submit();
  for (int i = 0; i < 5; ++i) {
    auto const w = c.attach();
    c.step(worker_drain{w, false});
    i % 2 == 0 ? c.lose(w) : c.cut(w);
    c.advance(1ms);
    ASSERT_EQ(c.state(f), closure_state::queued) << i;
  }
}

TEST_F(losses, closure_that_ends_the_process_of_a_draining_worker_is_counted) {
  auto const f = submit();
  for (int i = 0; i < 3; ++i) {
    auto const w = c.attach();
    c.step(worker_drain{w, false});
    c.end_process(w, f, "its process 7 exited with status 1");
  }
  EXPECT_EQ(c.state(f), closure_state::failed);
}

TEST_F(losses, workers_that_leave_a_stopping_server_are_not_counted) {
  auto const f = submit();
  for (int i = 0; i < 2; ++i) kill(f);
  auto const w = c.attach();
  ASSERT_EQ(c.state(f), closure_state::running);
  c.step(stop{});
  c.lose(w);
  EXPECT_NE(c.state(f), closure_state::failed);
}

TEST_F(losses, closure_that_shared_a_lost_worker_has_its_last_attempt_alone) {
  auto const bad = submit();
  auto const innocent = submit();
  joining const two{.slots = 2, .credits = 2};
  for (int i = 0; i < 2; ++i) c.lose(c.attach(two));
  EXPECT_EQ(c.state(innocent), closure_state::queued);
  auto const w = c.attach(two);
  auto const first = c.held(w);
  ASSERT_EQ(first.size(), 1u) << "each runs alone";
  if (first[0] == bad) {
    c.lose(w);
    EXPECT_EQ(c.state(bad), closure_state::failed);
    auto const next = c.attach(two);
    ASSERT_EQ(c.held(next), closures{innocent});
    c.succeed(next, innocent);
  } else {
    c.succeed(w, innocent);
    EXPECT_EQ(c.held(w), closures{bad});
    c.lose(w);
    EXPECT_EQ(c.state(bad), closure_state::failed);
  }
  EXPECT_EQ(c.state(innocent), closure_state::succeeded);
}

struct loss_pauses : testing::Test, of_a_session {
  loss_pauses() : of_a_session(unlimited(), {}, cluster::loss_pauses::as_configured) {}
};

TEST_F(loss_pauses, double_from_a_tenth_of_a_second_to_thirty_seconds) {
  auto const f = submit();
  std::vector<duration> const pauses{100ms,  200ms,    400ms,    800ms,    1600ms,  3200ms,
                                     6400ms, 12'800ms, 25'600ms, 30'000ms, 30'000ms};
  for (auto const pause : pauses) {
    kill(f);
    c.advance(pause - 1ms);
    auto const w = c.attach();
    ASSERT_TRUE(c.held(w).empty()) << pause.count();
    c.advance(1ms);
    ASSERT_EQ(c.held(w), closures{f}) << pause.count();
    c.leave(w);  // not counted, and requeued at once
    ASSERT_EQ(c.why(f).losses, 0u);
  }
}

TEST_F(loss_pauses, hold_no_slot_and_no_other_closure) {
  auto const f = submit();
  kill(f);
  auto const w = c.attach();
  auto const first = submit();
  auto const second = submit();
  EXPECT_EQ(c.held(w), closures{first});
  c.advance(100ms);
  c.succeed(w, first);
  EXPECT_EQ(c.held(w), closures{f}) << "it runs before closures that have not started";
  c.succeed(w, f);
  EXPECT_EQ(c.held(w), closures{second});
}

TEST_F(loss_pauses, are_explained) {
  auto const f = submit();
  for (int i = 0; i < 5; ++i) {
    kill(f);
    c.advance(30s);
  }
  kill(f, "its process 8 was killed by SIGKILL, perhaps out of memory");
  auto const why = c.why(f);
  EXPECT_EQ(why.why, closure_reason::pause);
  EXPECT_EQ(why.losses, 6u);
  EXPECT_EQ(why.starts_in, 3200ms);
  EXPECT_TRUE(
      text(why).starts_with("QUEUED, will be retried in 3.2 s after 6 lost workers: its process 8 "
                            "was killed by SIGKILL, perhaps "
                            "out of memory (worker:"))
      << text(why);
}

TEST_F(loss_pauses, end_when_the_worker_returns) {
  auto const f = submit();
  joining const same{.incarnation = 42};
  auto const w = c.attach(same);
  c.cut(w);
  c.advance(10ms);
  EXPECT_EQ(c.why(f).losses, 1u);
  auto const back = c.attach(same);
  EXPECT_EQ(c.held(back), closures{f});
  EXPECT_EQ(c.why(f).why, closure_reason::running);
}

TEST_F(loss_pauses, of_equal_length_keep_the_order_of_the_queue) {
  auto const first = schedule();
  auto const second = schedule();
  auto const third = schedule();
  c.lose(c.attach({.slots = 2, .credits = 2}));
  c.advance(100ms);
  auto const w = c.attach({.slots = 1, .credits = 1});
  for (auto const id : {first, second, third}) {
    ASSERT_EQ(c.held(w), closures{id});
    c.succeed(w, id);
  }
}

TEST_F(loss_pauses, closure_of_a_worker_that_returns_runs_before_closures_that_have_not_started) {
  auto const f = submit();
  joining const same{.incarnation = 42};
  c.cut(c.attach(same));
  auto const other = c.attach();
  ASSERT_TRUE(c.held(other).empty());
  auto const first = submit();
  auto const second = submit();
  ASSERT_EQ(c.held(other), closures{first});
  EXPECT_EQ(c.held(c.attach(same)), closures{f}) << "not " << raw(second);
}

TEST_F(loss_pauses, end_with_a_cancel_and_with_a_deadline) {
  auto const f = submit();
  kill(f);
  EXPECT_TRUE(c.status_of(cancel_closure{{}, f}).ok());
  EXPECT_EQ(c.state(f), closure_state::cancelled);
  closure_options o;
  o.deadline = 50ms;
  auto const late = schedule(true, o);
  kill(late);
  c.advance(50ms);
  EXPECT_EQ(c.state(late), closure_state::failed);
}

}  // namespace
}  // namespace muster::core
