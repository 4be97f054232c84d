// Only failures of a builder are counted; a builder that never succeeds fails the calls that need
// it.
#include "server/core/api/id_text.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {

std::string text(per_worker_id id);  // defined by the coordinator
namespace {

struct builder_losses : testing::Test {
  cluster c;

  static joining has_it(std::int64_t index = 0) {
    return {.functions = {"f", "make"}, .slots = 1, .credits = 4, .index = index};
  }
  per_worker_id create(session_id owner = {}) {
    create_per_worker e;
    e.function = c.function("make");
    e.args = blob("[]");
    e.owner = owner;
    auto const r = c.reply_to_event(std::move(e));
    EXPECT_TRUE(r.status.ok()) << r.status.message;
    return std::get<per_worker_reply>(r.body).id;
  }
  closure_spec needing(per_worker_id id) {
    auto spec = c.specs({"f"}).front();
    spec.extras = std::make_shared<closure_extras>(closure_extras{{}, {}, {id}});
    return spec;
  }
  per_worker_view::component part(per_worker_id v, std::size_t i = 0) {
    return c.core.per_worker().find(v)->components.at(i);
  }
  /// Lets the builder kill its worker and waits for the next attempt.
  void kill(std::size_t n, std::int64_t index = 0) {
    for (std::size_t i = 0; i < n; ++i) {
      auto const w = c.attach(has_it(index));
      for (int s = 0; s < 130 && c.held(w).empty(); ++s) c.advance(500ms), c.alive(w);
      ASSERT_EQ(c.held(w).size(), 1u) << "death " << i;
      c.lose(w, "killed");
    }
  }
  closure_counts counted() { return c.core.overview(c.now()).closures; }
};

TEST_F(builder_losses, a_build_that_waits_behind_a_running_call_is_not_retracted) {
  auto const w = c.attach(has_it(0));
  auto const busy = c.open({"f"});
  ASSERT_EQ(c.held(w), busy.closures);
  auto const idle = c.attach(has_it(1));
  auto const v = create();
  c.succeed(idle, c.held(idle).at(0), "null");
  auto const before = counted();
  auto const build = c.held(w).at(1);
  for (int i = 0; i < 100; ++i) {
    c.advance(50ms);
    EXPECT_TRUE(c.fx().retractions.empty());
    c.alive(w), c.alive(idle);
  }
  EXPECT_EQ(c.held(w).at(1), build);
  c.succeed(w, busy[0]);
  c.succeed(w, build, "null");
  EXPECT_EQ(part(v).state, value_state::ready);
  EXPECT_EQ(counted().failed, before.failed);
  EXPECT_EQ(counted().succeeded, before.succeeded + 2);
}

TEST_F(builder_losses, returned_build_is_not_counted_and_is_sent_again) {
  auto const w = c.attach(has_it());
  auto const busy = c.open({"f"});
  auto const v = create();
  auto const before = counted();
  auto const build = c.held(w).at(1);
  c.step(worker_results{w, {}, {}, {{build, 1}}});
  ASSERT_EQ(c.held(w).size(), 2u) << "only its worker can run it";
  EXPECT_EQ(c.fx().assignments.at(0).builds, v);
  EXPECT_EQ(counted(), before);
  EXPECT_TRUE(c.fx().changes.ended.empty());
  EXPECT_EQ(c.job(busy.id).counts.running, 1u);
}

TEST_F(builder_losses, build_lost_with_its_worker_is_not_a_failed_call) {
  auto const v = create();
  kill(2);
  EXPECT_EQ(counted().failed, 0u);
  auto const w = c.attach(has_it());
  c.succeed(w, c.held(w).at(0), "null");
  EXPECT_EQ(part(v).state, value_state::ready);
  EXPECT_EQ(counted().succeeded, 1u);
}

TEST_F(builder_losses, rebuilds_with_a_pause_after_three_losses_in_a_row) {
  auto const v = create();
  auto const job = c.open_with({needing(v)});
  kill(3);
  auto const w = c.attach(has_it());
  EXPECT_TRUE(c.held(w).empty());
  EXPECT_EQ(part(v).state, value_state::not_ready);
  EXPECT_EQ(part(v).error->message,
            "quarantined: 3 workers were lost while they built it; the last was worker:0 (killed)");
  EXPECT_EQ(c.said().back(),
            (log_event{log_event_kind::builder_quarantined, text(v),
                       "the builder of per-worker value " + text(v) +
                           " has lost 3 workers in a row; the last was worker:0 (killed). The "
                           "value will be built again after 1000 ms"}));
  EXPECT_EQ(c.why(job[0]).lack.value().need->value, part(v).error->message);
  ASSERT_EQ(c.core.per_worker().failing(9).size(), 1u);
  EXPECT_EQ(c.core.per_worker().failing(9)[0].task, "worker:0");
  c.advance(999ms);
  EXPECT_TRUE(c.held(w).empty());
  c.advance(1ms);
  ASSERT_EQ(c.held(w).size(), 1u);
  c.succeed(w, c.held(w).at(0), "null");
  EXPECT_EQ(c.held(w), job.closures)
      << "an innocent builder whose workers were lost because of others";
  EXPECT_TRUE(c.core.per_worker().failing(9).empty());
}

TEST_F(builder_losses, next_loss_fails_dependent_calls_with_the_cause) {
  auto const v = create();
  auto const job = c.open_with({needing(v)});
  auto const other = c.attach({.functions = {"f"}, .index = 7});
  kill(4);
  EXPECT_EQ(c.state(job[0]), closure_state::queued) << "the last one can return";
  auto const w = c.attach(has_it());
  auto const lost = "per-worker value " + text(v) +
                    " cannot be built: quarantined: 4 workers were lost while they built it; the "
                    "last was worker:0 (killed)";
  auto const why = c.core.closures().find(job[0])->error;
  ASSERT_TRUE(why);
  EXPECT_EQ(why->kind, failure_kind::input);
  EXPECT_EQ(why->message, lost);
  EXPECT_EQ(why->worker, "worker:0");
  auto const next = c.open_with({needing(v)});
  ASSERT_TRUE(c.core.closures().find(next[0])->error) << "a call submitted during the pause";
  EXPECT_EQ(c.core.closures().find(next[0])->error->message, lost);
  auto const apart = c.open({"f"});
  EXPECT_EQ(c.state(apart[0]), closure_state::running) << "a call that does not need it";
  c.advance(2s);
  ASSERT_FALSE(c.held(w).empty()) << "and it is built until it succeeds";
  for (auto const id : c.held(w))
    if (id != apart[0]) c.succeed(w, id, "null");
  auto const good = c.open_with({needing(v)});
  EXPECT_FALSE(c.core.closures().find(good[0])->error);
  static_cast<void>(other);
}

TEST_F(builder_losses, calls_run_where_the_value_was_built_and_fail_when_that_worker_leaves) {
  auto const good = c.attach(has_it(1));
  auto const v = create();
  c.succeed(good, c.held(good).at(0), "null");
  kill(4);
  c.attach(has_it(0));
  auto const job = c.open_with({needing(v), needing(v)}, continue_all());
  EXPECT_EQ(c.state(job[0]), closure_state::running);
  c.succeed(good, job[0]);
  c.leave(good);
  auto const why = c.core.closures().find(job[1])->error;
  ASSERT_TRUE(why);
  EXPECT_EQ(why->kind, failure_kind::input);
}

TEST_F(builder_losses, waiting_calls_fail_when_the_last_worker_with_the_value_leaves) {
  auto const good = c.attach(has_it(1));
  auto const other = c.attach({.functions = {"f"}, .index = 7});
  auto const v = create();
  c.succeed(good, c.held(good).at(0), "null");
  kill(4);
  c.attach(has_it(0));
  auto const job = c.open_with(std::vector<closure_spec>(6, needing(v)), continue_all());
  ASSERT_LT(c.held(good).size(), 6u) << "others wait in the queue";
  c.leave(other);
  EXPECT_FALSE(c.core.closures().find(job[5])->error) << "it did not build the value";
  c.leave(good);
  for (auto const id : job.closures) {
    auto const why = c.core.closures().find(id)->error;
    ASSERT_TRUE(why) << raw(id);
    EXPECT_EQ(why->kind, failure_kind::input);
  }
}

TEST_F(builder_losses, calls_wait_while_a_worker_builds_the_value_or_can_return) {
  auto const v = create();
  auto const building = c.attach(has_it(1));
  auto const job = c.open_with({needing(v)});
  kill(4);
  c.attach(has_it(0));
  EXPECT_EQ(c.state(job[0]), closure_state::queued) << "worker:1 builds it";
  c.lose(building, "lost");
  EXPECT_EQ(c.state(job[0]), closure_state::queued) << "worker:1 can return";
  auto const back = c.attach(has_it(1));
  c.succeed(back, c.held(back).at(0), "null");
  EXPECT_EQ(c.held(back), job.closures);
}

TEST_F(builder_losses, calls_bound_to_one_task_fail_with_its_build_error) {
  auto const v = create();
  auto const good = c.attach(has_it(1));
  c.succeed(good, c.held(good).at(0), "null");
  kill(4);
  c.attach(has_it(0));
  auto spec = c.specs({"f"}).front();
  auto x = std::make_shared<closure_extras>(closure_extras{{}, {}, {v}});
  x->options.task_job = "worker";
  x->options.task_index = 0;
  spec.extras = x;
  auto const job = c.open_with({spec});
  ASSERT_TRUE(c.core.closures().find(job[0])->error);
}

TEST_F(builder_losses, the_pause_doubles_up_to_a_minute) {
  config patient;
  patient.heartbeat_timeout = std::chrono::hours(1);
  cluster d(patient);
  create_per_worker e;
  e.function = d.function("make");
  e.args = blob("[]");
  d.reply_to_event(std::move(e));
  for (int i = 0; i < 3; ++i) d.lose(d.attach(has_it()));
  for (auto const pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    auto const w = d.attach(has_it());
    d.advance(pause - 1ms);
    EXPECT_TRUE(d.held(w).empty());
    d.advance(1ms);
    ASSERT_EQ(d.held(w).size(), 1u) << pause.count();
    d.lose(w);
  }
}

TEST_F(builder_losses, the_limit_is_that_of_the_session) {
  auto spec = resumable_values();
  spec.max_worker_failures = 1;
  auto const v = create(c.open({}, spec).id);
  kill(1);
  auto const w = c.attach(has_it());
  EXPECT_TRUE(c.held(w).empty());
  EXPECT_EQ(part(v).error->message,
            "quarantined: 1 worker was lost while it built it; the last was worker:0 (killed)");
}

TEST_F(builder_losses, draining_or_leaving_worker_is_not_counted_against_the_builder) {
  auto const v = create();
  for (int i = 0; i < 5; ++i) {
    auto const w = c.attach(has_it());
    ASSERT_EQ(c.held(w).size(), 1u) << i;
    if (i % 2 == 0)
      c.step(worker_drain{w}), c.lose(w, "preempted");
    else
      c.leave(w);
  }
  auto const w = c.attach(has_it());
  ASSERT_EQ(c.held(w).size(), 1u);
  EXPECT_FALSE(part(v).error);
}

TEST_F(builder_losses, requests_for_an_unknown_value_are_limited) {
  auto const w = c.attach(has_it());
  auto const v = create();
  c.succeed(w, c.held(w).at(0), "null");
  session_spec spec;
  spec.unlimited_worker_failures = true;
  auto const job = c.open_with({needing(v)}, spec);
  int asked = 0;
  for (; asked < 100 && !c.held(w).empty(); ++asked) {
    c.fail(w, c.held(w).at(0), "it is not here", failure_kind::stale_handle);
    for (int i = 0; i < 8; ++i) c.advance(500ms), c.alive(w);
  }
  EXPECT_EQ(asked, 9);
  auto const why = c.core.closures().find(job[0])->error;
  ASSERT_TRUE(why);
  EXPECT_EQ(why->kind, failure_kind::stale_handle);
  EXPECT_EQ(why->message, "it is not here (9 attempts on workers ended this way)");
}

}  // namespace
}  // namespace muster::core
