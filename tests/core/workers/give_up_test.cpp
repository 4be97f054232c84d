#include "tests/core/fixture.hpp"

namespace muster::core {

std::string text(per_worker_id id);  // defined by the coordinator
namespace {

struct giving_up : testing::Test {
  static config soon() {
    config c;
    c.recovery_timeout = 30min;
    return c;
  }

  closure_spec spec(std::string_view function = "f") {
    closure_spec s;
    s.function = c.function(function);
    s.args = blob("[]");
    return s;
  }
  closure_spec only_on(std::int64_t index, closure_extras more = {}) {
    auto s = spec();
    more.options.task_job = "worker";
    more.options.task_index = index;
    s.extras = std::make_shared<closure_extras>(std::move(more));
    return s;
  }
  static closure_extras after(closure_id input) {
    closure_extras x;
    x.inputs.push_back({input, 0, 1});
    return x;
  }
  per_worker_id value() {
    auto const r =
        c.reply_to_event(create_per_worker{{}, "table", c.function("make"), blob("[]"), {}});
    return std::get<per_worker_reply>(r.body).id;
  }
  closure_spec needing(per_worker_id id) {
    auto s = spec();
    s.extras = std::make_shared<closure_extras>(closure_extras{{}, {}, {id}});
    return s;
  }
  void lose_worker_3() { c.lose(c.attach({.index = 3}), "kernel panic"); }
  failure error(closure_id id) const { return c.core.closures().find(id)->error.value(); }

  cluster c{soon()};
};

TEST_F(giving_up, fails_a_blocked_closure) {
  lose_worker_3();
  auto const input = c.open({"slow"});
  auto const job = c.open_with({only_on(3, after(input[0]))});
  c.advance(29min + 59s);
  EXPECT_EQ(c.state(job[0]), closure_state::blocked);
  EXPECT_EQ(c.task(3).state, task_state::error) << "listed as long as closures wait for it";
  c.advance(1s);
  EXPECT_EQ(error(job[0]).kind, failure_kind::worker_lost);
  EXPECT_EQ(
      error(job[0]).message,
      "it can only run on worker:3, which has been lost for 1800 s and is given up (kernel panic)");
  EXPECT_EQ(c.state(input[0]), closure_state::queued) << "it can run anywhere";
}

TEST_F(giving_up, fails_a_delayed_closure) {
  lose_worker_3();
  closure_extras later;
  later.options.delay = 5h;
  auto const job = c.open_with({only_on(3, later)});
  c.advance(30min);
  EXPECT_EQ(error(job[0]).kind, failure_kind::worker_lost);
  EXPECT_EQ(c.said().at(0).text,
            "has been lost for 1800 s and is given up (kernel panic); 1 closure waited for it");
}

TEST_F(giving_up, fails_a_gang_with_a_member_bound_to_the_task) {
  lose_worker_3();
  closure_extras gang;
  gang.options.gang = "pair";
  auto other = spec();
  other.extras = std::make_shared<closure_extras>(gang);
  auto const job = c.open_with({only_on(3, gang), other}, continue_all());
  c.advance(30min);
  EXPECT_EQ(c.state(job[0]), closure_state::failed);
  EXPECT_EQ(c.state(job[1]), closure_state::cancelled);
}

TEST_F(giving_up, fails_closures_scheduled_later_until_the_task_returns) {
  lose_worker_3();
  auto const input = c.open({"slow"});
  c.open_with({only_on(3)});
  c.advance(30min);
  auto const at_once = c.open_with({only_on(3)});
  EXPECT_EQ(error(at_once[0]).kind, failure_kind::worker_lost);
  EXPECT_EQ(c.job(at_once.id).state, job_state::failed);
  auto const blocked = c.open_with({only_on(3, after(input[0]))});
  EXPECT_EQ(error(blocked[0]).kind, failure_kind::worker_lost);
  auto const w = c.attach({.index = 3});
  auto const job = c.open_with({only_on(3)});
  EXPECT_EQ(c.held(w), job.closures);
}

TEST_F(giving_up, fails_closures_that_wait_for_a_task_that_left_cleanly) {
  c.leave(c.attach({.index = 3}), "scaled down");
  auto const job = c.open_with({only_on(3)});
  c.advance(29min + 59s);
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  c.advance(1s);
  EXPECT_EQ(error(job[0]).message,
            "it can only run on worker:3, which has been disconnected for 1800 s and is given up "
            "(scaled down)");
}

TEST_F(giving_up, fails_a_retry_bound_to_the_task) {
  auto const w = c.attach({.index = 3});
  closure_extras retried;
  retried.options.max_retries = 1;
  retried.options.retry_initial = retried.options.retry_max = 3h;
  auto const job = c.open_with({only_on(3, retried)});
  c.fail(w, job[0]);
  c.lose(w, "kernel panic");
  c.advance(30min);
  EXPECT_EQ(error(job[0]).kind, failure_kind::worker_lost);
}

TEST_F(giving_up, a_value_of_which_every_component_is_lost_cannot_be_built) {
  auto const v = value();
  joining const builder{.functions = {"f", "make"}, .credits = 4, .index = 3};
  auto const w = c.attach(builder);
  c.attach({.index = 4});
  c.succeed(w, c.held(w).at(0), "null");
  c.lose(w, "kernel panic");
  auto const input = c.open({"slow"});
  auto needs = needing(v);
  auto const queued = c.open_with({needs});
  auto both = closure_extras{{}, {{input[0], 0, 1}}, {v}};
  needs.extras = std::make_shared<closure_extras>(both);
  auto const blocked = c.open_with({needs});
  c.advance(29min + 59s);
  EXPECT_EQ(c.state(queued[0]), closure_state::queued);
  EXPECT_EQ(c.state(blocked[0]), closure_state::blocked);
  c.advance(1s);
  for (auto const id : {queued[0], blocked[0]}) {
    EXPECT_EQ(error(id).kind, failure_kind::input);
    EXPECT_EQ(error(id).message,
              "it needs " + text(v) +
                  ", which was lost with every worker that built it, the last on worker:3, which "
                  "has been lost for 1800 s and is given up (kernel panic)");
  }
}

TEST_F(giving_up, a_value_that_another_worker_may_build_is_waited_for) {
  auto const v = value();
  auto const w = c.attach({.functions = {"f", "make"}, .credits = 4, .index = 3});
  auto const job = c.open_with({needing(v), only_on(3)}, continue_all());
  auto const other = c.attach({.functions = {"f", "make"}, .credits = 4, .index = 4});
  c.lose(w);
  for (int i = 0; i < 190; ++i) c.wait(10s), c.alive(other), c.tick();
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
  EXPECT_EQ(c.state(job[1]), closure_state::failed) << "was waited for";
  c.succeed(other, c.held(other).at(0), "null");
  EXPECT_EQ(c.state(job[0]), closure_state::running);
}

TEST_F(giving_up, component_is_removed_with_the_row_of_its_task) {
  auto const v = value();
  c.lose(c.attach({.functions = {"f", "make"}, .index = 3}));
  EXPECT_EQ(c.core.per_worker().find(v)->components.size(), 1u);
  c.advance(10min);
  EXPECT_FALSE(c.core.workers().find("worker", 3));
  EXPECT_TRUE(c.core.per_worker().find(v)->components.empty());
}

struct lost_builds : giving_up {
  stream_id attach(std::uint64_t incarnation) {
    return c.attach({.functions = {"f", "make"}, .index = 0, .incarnation = incarnation});
  }
  std::size_t components_failed(per_worker_id v) const {
    std::size_t n = 0;
    auto const view = c.core.per_worker().find(v).value();
    for (auto const& part : view.components) n += part.error.has_value();
    return n;
  }
};

TEST_F(lost_builds, of_a_worker_that_returns_too_late_are_not_counted) {
  auto const v = value();
  for (int i = 0; i < 6; ++i) {
    auto const w = attach(7);
    ASSERT_EQ(c.held(w).size(), 1u) << "sent the build for time " << i;
    c.wait(1s);
    c.cut(w);
    c.advance(1min);  // longer than the grace period
    EXPECT_TRUE(c.held(w).empty());
  }
  auto const w = attach(7);
  c.succeed(w, c.held(w).at(0), "null");
  EXPECT_EQ(components_failed(v), 0u);
}

TEST_F(lost_builds, of_dead_workers_are_counted_with_and_without_a_grace_period) {
  auto const v = value();
  for (std::uint64_t i = 0; i < 3; ++i) {
    auto const w = attach(10 + i);
    ASSERT_EQ(c.held(w).size(), 1u);
    c.wait(1s);
    if (i % 2 == 0)
      c.cut(w);
    else
      c.lose(w);
    c.advance(1min);
  }
  auto const w = attach(20);
  EXPECT_TRUE(c.held(w).empty()) << "it is built after a pause";
  auto const part = c.core.per_worker().find(v)->components.at(0);
  ASSERT_TRUE(part.error);
  EXPECT_TRUE(part.error->message.starts_with("quarantined: 3 workers were lost"));
  c.advance(1s);
  EXPECT_EQ(c.held(w).size(), 1u);
}

}  // namespace
}  // namespace muster::core
