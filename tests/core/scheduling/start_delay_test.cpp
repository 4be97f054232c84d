#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

struct start_delay : testing::Test {
  static config staggered(duration most) {
    config c;
    c.start_delay = 2s;
    c.start_delay_max = most;
    return c;
  }
  static time_point starts(cluster& c, std::int64_t index) { return c.task(index).starts_at; }
};

TEST_F(start_delay, is_a_multiple_of_the_index_up_to_a_cap) {
  cluster c(staggered(4s));
  for (int i = 0; i < 4; ++i) c.attach();
  EXPECT_EQ(starts(c, 0), time_point{});
  EXPECT_EQ(starts(c, 1), start + 2s);
  EXPECT_EQ(starts(c, 2), start + 4s);
  EXPECT_EQ(starts(c, 3), start + 4s);
  cluster open_ended(staggered({}));
  open_ended.attach({.index = 3});
  EXPECT_EQ(starts(open_ended, 3), start + 6s);
  open_ended.attach({.index = 1'000'000'000'000});
  EXPECT_EQ(starts(open_ended, 1'000'000'000'000), start + std::chrono::hours(24 * 365));
}

TEST_F(start_delay, is_logged_once_for_each_worker_that_waits) {
  cluster c(staggered({}));
  c.attach();
  EXPECT_TRUE(c.said().empty()) << "worker:0 does not wait";
  auto const w = c.attach();
  EXPECT_EQ(c.said(),
            (std::vector{log_event{log_event_kind::worker_start_delayed, "worker:1",
                                   "will get its first closure after a start delay of 2000 "
                                   "ms"}}));
  EXPECT_EQ(history::severity_of(c.said()[0].kind), coordination::severity::info);
  c.advance(2s);
  EXPECT_TRUE(c.said().empty());
  c.lose(w);
}

TEST_F(start_delay, no_closure_is_sent_before_it_elapses) {
  cluster c(staggered({}));
  auto const w = c.attach({.index = 1});
  auto const job = c.open({"f"});
  EXPECT_TRUE(c.held(w).empty());
  auto const why = *c.core.closures().explain(job[0], c.now());
  EXPECT_EQ(why.why, closure_reason::workers_start);
  EXPECT_EQ(why.lack.value().starts_in, 2'000ms);
  c.advance(1'999ms);
  EXPECT_TRUE(c.held(w).empty());
  c.advance(1ms);
  EXPECT_EQ(c.held(w), job.closures);
  EXPECT_EQ(starts(c, 1), time_point{});
}

TEST_F(start_delay, is_not_repeated_for_a_known_incarnation) {
  cluster c(staggered({}));
  joining const same{.index = 2, .incarnation = 42};
  auto const w = c.attach(same);
  c.advance(4s);
  auto const job = c.open({"f"});
  ASSERT_EQ(c.held(w), job.closures);
  c.lose(w);
  auto const back = c.attach(same);
  EXPECT_EQ(c.held(back), job.closures);
  c.lose(back);
  auto fresh = same;
  fresh.incarnation = 43;
  EXPECT_TRUE(c.held(c.attach(fresh)).empty());
}

TEST_F(start_delay, ends_with_the_worker) {
  cluster c(staggered({}));
  auto const w = c.attach({.index = 1});
  c.leave(w);
  c.advance(10s);
  EXPECT_EQ(c.task(1).starts_at, time_point{});
}

struct given_up : testing::Test {
  static config soon() {
    config c;
    c.recovery_timeout = 30min;
    return c;
  }
  opened only_on(std::int64_t index) {
    auto work = c.specs({"f"});
    auto extras = std::make_shared<closure_extras>();
    extras->options.task_job = "worker";
    extras->options.task_index = index;
    work[0].extras = extras;
    return c.open_with(std::move(work));
  }
  cluster c{soon()};
};

TEST_F(given_up, closures_bound_to_the_worker_fail) {
  c.lose(c.attach({.index = 3}), "kernel panic");
  auto const job = only_on(3);
  EXPECT_EQ(c.task(3).lost_since, start);
  c.advance(29min + 59s);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  EXPECT_EQ(c.task(3).state, task_state::error) << "listed for as long as it is waited for";
  c.advance(1s);
  EXPECT_EQ(c.state(job[0]), closure_state::failed);
  auto const error = c.core.closures().find(job[0])->error;
  EXPECT_EQ(error->kind, failure_kind::worker_lost);
  EXPECT_EQ(
      error->message,
      "it can only run on worker:3, which has been lost for 1800 s and is given up (kernel panic)");
  EXPECT_TRUE(c.task(3).given_up);
  EXPECT_EQ(c.said().at(0).kind, log_event_kind::worker_given_up);
}

TEST_F(given_up, returned_worker_is_not_given_up) {
  c.lose(c.attach({.index = 3}));
  auto const job = only_on(3);
  c.advance(29min);
  auto const w = c.attach({.index = 3});
  EXPECT_EQ(c.held(w), job.closures);
  EXPECT_EQ(c.task(3).lost_since, never);
}

TEST_F(given_up, row_without_waiting_closures_is_removed_after_the_retention) {
  c.lose(c.attach({.index = 3}));
  c.advance(10min);
  EXPECT_FALSE(c.core.workers().find("worker", 3));
}

TEST_F(given_up, a_drained_worker_does_not_count_as_having_a_function) {
  auto const w = c.attach();
  c.open({"f"});
  c.step(worker_drain{w, false});
  session_spec strict;
  strict.require_function = true;
  EXPECT_EQ(c.status_of(open_session{{}, strict, c.specs({"f"})}).code, code::failed_precondition);
}

TEST_F(given_up, unlimited_session_survives_more_losses_than_the_counter_holds) {
  session_spec s;
  s.max_worker_failures = 256;
  EXPECT_EQ(c.status_of(open_session{{}, s, {}}).message,
            "max_worker_failures: 256, the limit is 255");
  s.max_worker_failures = 0;
  s.unlimited_worker_failures = true;
  auto const job = c.open({"f"}, s);
  for (int i = 0; i < 300; ++i) c.lose(c.attach({.index = 0}));
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
}

}  // namespace
}  // namespace muster::core
