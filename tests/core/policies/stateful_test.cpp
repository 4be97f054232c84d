// A session that relied on a lost task ends, and none of its closures runs on the replacement.
#include "server/core/policies/stateful_tasks.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

struct stateful : testing::Test {
  static config with_ps() {
    config c;
    c.stateful_jobs = {"ps"};
    return c;
  }
  static joining ps(std::uint64_t incarnation, std::int64_t index = 0) {
    return {.slots = 2,
            .credits = 2,
            .index = index,
            .incarnation = incarnation,
            .job = "ps",
            .host = "host"};
  }

  cluster c{with_ps()};

  std::vector<closure_spec> bound(std::size_t n, std::int64_t index = 0) {
    auto specs = c.specs(names(n, "f"));
    auto x = std::make_shared<closure_extras>();
    x->options.task_job = "ps";
    x->options.task_index = index;
    for (auto& s : specs) s.extras = x;
    return specs;
  }
  void expect_lost(session_id s, std::string const& why) {
    EXPECT_EQ(c.noticed(s), (notices{notice_kind::failed, notice_kind::drained}));
    auto const& n = c.fx().notices.at(0);
    EXPECT_EQ(n.failure.kind, failure_kind::dependency_lost);
    EXPECT_EQ(n.failure.dependencies, names({"ps:0"}));
    EXPECT_EQ(n.failure.message, "UNAVAILABLE: ps:0 was lost together with its state: " + why);
  }
};

TEST_F(stateful, unbound_closures_do_not_run_on_stateful_tasks) {
  auto const p = c.attach(ps(1));
  auto const job = c.open({"f"});
  EXPECT_TRUE(c.held(p).empty());
  auto const why = *c.core.closures().explain(job[0], c.now());
  EXPECT_EQ(why.why, closure_reason::unsatisfiable);
  EXPECT_EQ(why.lack.value().need, (unmet_need{unmet_need::kind::by_name, {}, {}, 0, 1}));
  auto const named = c.open_with(bound(1));
  EXPECT_EQ(c.held(p), named.closures);
  auto const w = c.attach();
  EXPECT_EQ(c.held(w), job.closures);
}

TEST_F(stateful, new_incarnation_ends_the_session_before_running_its_closures) {
  auto const p = c.attach(ps(1));
  auto const s = c.open_with(bound(4), resumable_values()).id;
  ASSERT_EQ(c.held(p).size(), 2u);
  auto const other = c.stream();
  auto const q = c.attach(ps(2));
  expect_lost(s, "another worker process took its place");
  EXPECT_TRUE(c.held(q).empty());
  EXPECT_EQ(c.job(s).counts.failed, 4u) << "each notice contains the reason";
  EXPECT_TRUE(c.noticed(other).empty()) << "it never depended on ps:0";
  EXPECT_EQ(c.said().back(),
            (log_event{
                log_event_kind::dependency_lost, "ps:0",
                "its state was lost (another worker process took its place); 1 session that relied "
                "on it ended"}));
  auto work = bound(1);
  c.step(core::schedule{{}, s, std::move(work), 2});
  EXPECT_EQ(c.held(q).size(), 1u) << "the next generation runs there";
}

TEST_F(stateful, idle_session_is_notified_of_the_loss) {
  auto const p = c.attach(ps(1));
  auto const s = c.open_with(bound(1), resumable_values()).id;
  c.succeed(p, c.held(p)[0]);
  c.lose(p);
  EXPECT_TRUE(c.noticed(s).empty()) << "it can return";
  c.attach(ps(2));
  expect_lost(s, "another worker process took its place");
}

TEST_F(stateful, session_depends_on_the_state_before_its_bound_closures_run) {
  auto const p = c.attach(ps(1));
  c.open_with(bound(2));
  auto const s = c.open_with(bound(1), resumable_values()).id;
  ASSERT_EQ(c.held(p).size(), 2u) << "of the other session";
  c.attach(ps(2));
  expect_lost(s, "another worker process took its place");
}

TEST_F(stateful, clean_disconnect_loses_the_state_at_once) {
  auto const p = c.attach(ps(1));
  auto const s = c.open_with(bound(1), resumable_values()).id;
  c.succeed(p, c.held(p)[0]);
  c.leave(p, "left");
  expect_lost(s, "left");
}

TEST_F(stateful, absence_beyond_the_grace_period_loses_the_state) {
  auto const p = c.attach(ps(1));
  auto const s = c.open_with(bound(1), resumable_values()).id;
  c.succeed(p, c.held(p)[0]);
  c.cut(p);
  c.advance(4'999ms);
  EXPECT_TRUE(c.noticed(s).empty());
  c.advance(1ms);
  expect_lost(s, "it was disconnected for longer than 5000 ms");
}

TEST_F(stateful, same_incarnation_returning_in_time_loses_nothing) {
  auto const p = c.attach(ps(1));
  auto const s = c.open_with(bound(1), resumable_values()).id;
  c.succeed(p, c.held(p)[0]);
  c.cut(p);
  c.advance(4s);
  c.come_back(ps(1), {});
  c.advance(10s);
  EXPECT_TRUE(c.noticed(s).empty());
  EXPECT_EQ(c.job(s).state, job_state::running);
}

TEST_F(stateful, failure_that_names_the_task_makes_the_session_depend_on_it) {
  c.attach(ps(1));
  auto const w = c.attach();
  auto const s = c.open({"f"}, resumable_values()).id;
  auto const f = c.held(w).at(0);
  auto r = c.bad(w, f, "no answer", failure_kind::dependency_lost);
  r.failure->dependencies = {"ps:0"};
  c.answer(w, {r});
  EXPECT_TRUE(c.noticed(s).empty()) << "one report is tolerated";
  c.attach(ps(2));
  expect_lost(s, "another worker process took its place");
}

TEST_F(stateful, job_submitted_over_rest_fails_with_the_reason) {
  c.attach(ps(1));
  auto const job = c.open_with(bound(3));
  c.attach(ps(2));
  auto const v = c.job(job.id);
  EXPECT_EQ(v.state, job_state::failed);
  EXPECT_EQ(v.error->dependencies, names({"ps:0"}));
}

TEST_F(stateful, sessions_opened_after_the_loss_are_not_affected) {
  auto const p = c.attach(ps(1));
  c.leave(p);
  auto const s = c.open_with(bound(1), resumable_values()).id;
  auto const q = c.attach(ps(2));
  EXPECT_TRUE(c.noticed(s).empty());
  EXPECT_EQ(c.held(q).size(), 1u);
}

struct stateful_values : stateful {
  static joining building(joining w) {
    w.functions = {"f", "make"};
    w.credits = 4;
    return w;
  }
  per_worker_id create(session_id owner) {
    create_per_worker e;
    e.function = c.function("make");
    e.args = blob("[]");
    e.owner = owner;
    return std::get<per_worker_reply>(c.reply_to_event(std::move(e)).body).id;
  }
  std::vector<std::string> built_on(per_worker_id v) const {
    std::vector<std::string> all;
    auto const view = c.core.per_worker().find(v).value();
    for (auto const& part : view.components)
      all.push_back(part.job + ":" + std::to_string(part.index));
    return all;
  }
  void use(session_id s, per_worker_id v, std::string job, std::int64_t index) {
    auto specs = c.specs({"f"});
    auto x = std::make_shared<closure_extras>(closure_extras{{}, {}, {v}});
    x->options.task_job = std::move(job);
    x->options.task_index = index;
    specs[0].extras = x;
    c.step(core::schedule{{}, s, std::move(specs), 0});
  }
};

TEST_F(stateful_values, are_not_built_on_stateful_tasks_by_default) {
  auto const p = c.attach(building(ps(1)));
  c.attach(building({}));
  auto const s = c.open({}, resumable_values()).id;
  auto const v = create(s);
  c.attach(building(ps(2, 1)));
  EXPECT_EQ(built_on(v), names({"worker:0"}));
  c.leave(p);
  EXPECT_TRUE(c.noticed(s).empty());
}

TEST_F(stateful_values, are_built_on_tasks_that_a_closure_names) {
  auto const p = c.attach(building(ps(1)));
  c.attach(building(ps(2, 1)));
  auto const s = c.open({}, resumable_values()).id;
  auto const v = create(s);
  EXPECT_TRUE(built_on(v).empty());
  use(s, v, "ps", 0);
  EXPECT_EQ(built_on(v), names({"ps:0"}));
  ASSERT_EQ(c.held(p).size(), 1u) << "the build";
  c.succeed(p, c.held(p)[0], "null");
  ASSERT_EQ(c.held(p).size(), 1u) << "the closure that needs it";
  c.leave(p);
  expect_lost(s, "left");
}

TEST_F(stateful_values, are_built_on_all_tasks_of_a_named_job_including_later_ones) {
  c.attach(building(ps(1)));
  auto const s = c.open({}, resumable_values()).id;
  auto const v = create(s);
  use(s, v, "ps", -1);
  c.attach(building(ps(2, 1)));
  EXPECT_EQ(built_on(v), names({"ps:0", "ps:1"}));
}

// A restarted server does not know which values earlier closures named.
TEST_F(stateful_values, values_kept_by_an_attaching_task_are_not_rebuilt) {
  c.attach(building({}));
  auto const s = c.open({}, resumable_values()).id;
  auto const v = create(s);
  auto back = building(ps(1));
  back.per_worker = {v};
  auto const p = c.attach(back);
  EXPECT_EQ(c.fx().drop_requests, std::vector<drop_request>{});
  EXPECT_EQ(built_on(v), names({"ps:0", "worker:0"}));
  EXPECT_TRUE(c.held(p).empty()) << "it is not built again";
  use(s, v, "ps", 0);
  ASSERT_EQ(c.fx().assignments.size(), 1u);
  EXPECT_EQ(c.fx().assignments[0].builds, per_worker_id{}) << "the closure that needs it";
  EXPECT_EQ(c.held(p).size(), 1u);
}

// Losses after the generation has already failed.
TEST_F(stateful, submitted_closures_also_fail_with_the_lost_state) {
  auto const p = c.attach(ps(1));
  auto const s = c.open({}, resumable_values()).id;
  c.step(core::schedule{{}, s, bound(2)});
  auto own = bound(3);
  std::vector<std::uint64_t> tokens;
  for (auto& o : own) o.own_error = true, tokens.push_back(o.token);
  c.step(core::schedule{{}, s, std::move(own)});
  c.fail(p, c.held(p).at(0));
  ASSERT_TRUE(c.job(s).stopping) << "one still runs";
  auto const q = c.attach(ps(2));
  EXPECT_TRUE(c.held(q).empty());
  for (auto const token : tokens) {
    auto const ended = c.core.closures().find(c.core.closure_of(s, token));
    ASSERT_TRUE(ended && ended->error) << token;
    EXPECT_EQ(ended->error->dependencies, names{"ps:0"});
  }
}

TEST_F(stateful, without_stateful_jobs_tasks_are_ordinary_workers) {
  config none;
  none.stateful_jobs.clear();
  cluster plain(none);
  auto const p = plain.attach(ps(1));
  auto const job = plain.open({"f"});
  EXPECT_EQ(plain.held(p), job.closures);
}

}  // namespace
}  // namespace muster::core
