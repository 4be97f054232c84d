#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

using tokens = std::vector<std::uint64_t>;

struct own_errors : testing::Test {
  explicit own_errors(config k = {}) : c(std::move(k)) {}

  cluster c;
  stream_id w = c.attach({.slots = 3, .credits = 3});
  session_id s = c.open({}, resumable_values()).id;

  closure_id id(std::uint64_t token) { return c.core.closure_of(s, token); }
  /// Submits a closure; generation 0 stands for no generation.
  closure_id submit(std::uint32_t generation = 0) {
    auto specs = c.specs({"f"});
    specs[0].own_error = true;
    auto const token = specs[0].token;
    c.step(core::schedule{{}, s, std::move(specs), generation});
    return id(token);
  }
  closure_id schedule() { return id(c.schedule(s, {"f"})[0]); }
  join_session join(session_id of, join_mode mode) { return {{}, of, c.now() + 10s, mode}; }
};

TEST_F(own_errors, submitted_closure_fails_alone_and_ends_no_generation) {
  auto const other = schedule();
  auto const own = submit();
  c.fail(w, own, "its own");
  EXPECT_EQ(c.fx().notices, std::vector<session_notification>{});
  ASSERT_EQ(c.fx().outcomes.size(), 1u);
  EXPECT_EQ(c.fx().outcomes[0].failure->message, "its own");
  EXPECT_EQ(c.state(other), closure_state::running);
  EXPECT_EQ(c.job(s).generation, 1u);
  EXPECT_EQ(c.job(s).error, std::nullopt);
}

TEST_F(own_errors, error_of_a_generation_stops_no_submitted_closure) {
  auto const bad = schedule();
  auto const running = submit();
  auto const scheduled = schedule();
  auto const queued = submit();
  auto const after = schedule();
  c.fail(w, bad, "of the generation");
  EXPECT_EQ(c.state(after), closure_state::cancelled);
  EXPECT_EQ(c.state(queued), closure_state::running) << "it took the free place";
  ASSERT_EQ(c.fx().stop_requests.size(), 1u);
  EXPECT_EQ(c.fx().stop_requests[0].closure, scheduled);
  c.succeed(w, scheduled);
  EXPECT_EQ(c.noticed(s), notices{notice_kind::drained}) << "although two of the session still run";
  EXPECT_EQ(c.job(s).generation, 2u);
  c.succeed(w, running, "1");
  c.succeed(w, queued, "2");
  EXPECT_EQ(c.core.closures().find(running)->data, blob("1"));
  EXPECT_EQ(c.core.closures().find(queued)->data, blob("2"));
  EXPECT_EQ(c.job(s).generation, 2u);
}

TEST_F(own_errors, submitted_closures_are_accepted_while_a_generation_drains) {
  auto const bad = schedule();
  auto const draining = schedule();
  c.fail(w, bad);
  ASSERT_TRUE(c.job(s).stopping);
  EXPECT_EQ(c.state(submit()), closure_state::running);
  c.schedule(s, {"f"});
  ASSERT_EQ(c.fx().outcomes.size(), 1u);
  EXPECT_EQ(c.fx().outcomes[0].failure->kind, failure_kind::cancelled);
  c.succeed(w, draining);
  EXPECT_EQ(c.job(s).generation, 2u);
}

TEST_F(own_errors, cancelling_the_session_also_ends_submitted_closures) {
  auto const running = submit();
  for (int i = 0; i < 2; ++i) submit();
  auto const queued = submit();
  c.ask(cancel_session{{}, s});
  EXPECT_EQ(c.state(queued), closure_state::cancelled);
  EXPECT_EQ(c.fx().stop_requests.size(), 3u);
  c.fail(w, running, "stopped", failure_kind::cancelled);
  EXPECT_EQ(c.core.closures().find(running)->error->kind, failure_kind::cancelled);
}

TEST_F(own_errors, closing_the_session_waits_for_submitted_closures) {
  auto const own = submit();
  c.step(close_session{s});
  EXPECT_EQ(c.job(s).state, job_state::running);
  c.succeed(w, own);
  EXPECT_NE(c.job(s).state, job_state::running);
}

TEST_F(own_errors, closure_with_a_cancelled_input_reports_its_own_error) {
  auto const bad = schedule();
  schedule(), schedule();
  auto const input = schedule();  // queued
  auto specs = c.specs({"f"});
  specs[0].own_error = true;
  specs[0].args = blob("[]");
  auto extras = std::make_shared<closure_extras>();
  extras->inputs = {{input, 0, 1}};
  specs[0].extras = extras;
  auto const token = specs[0].token;
  c.step(core::schedule{{}, s, std::move(specs)});
  c.fail(w, bad);
  auto const told = c.core.closures().find(id(token));
  ASSERT_TRUE(told && told->error);
  EXPECT_EQ(told->error->kind, failure_kind::input);
}

TEST_F(own_errors, submitted_closure_lost_while_its_session_drains_runs_again) {
  auto const v = c.attach({.functions = {"g"}, .slots = 1, .credits = 1});
  auto specs = c.specs({"g"});
  specs[0].own_error = true;
  auto const token = specs[0].token;
  c.step(core::schedule{{}, s, std::move(specs)});
  auto const bad = schedule();
  schedule();
  c.fail(w, bad);
  ASSERT_TRUE(c.job(s).stopping);
  c.lose(v, "killed");
  EXPECT_EQ(c.state(id(token)), closure_state::queued);
}

TEST_F(own_errors, join_by_call_waits_for_submitted_closures_and_an_error_does_not) {
  s = c.open({}, by_call()).id;
  auto specs = c.specs({"f", "f"});
  specs[1].own_error = true;
  auto const r = c.reply_to_event(core::schedule{{}, s, std::move(specs)});
  auto const ids = std::get<session_reply>(r.body).closures;
  auto const first = c.park(join(s, join_mode::drain));
  auto const second = c.park(join(s, join_mode::drain));
  c.fail(w, ids[0], "raised once");
  auto const got = c.reply_to(first);
  ASSERT_TRUE(got);
  EXPECT_TRUE(std::get<join_reply>(got->body).has_error);
  EXPECT_FALSE(std::get<join_reply>(got->body).done);
  EXPECT_FALSE(c.reply_to(second)) << "it received no error, and a closure remains";
  c.fail(w, ids[1], "told by its value");
  auto const end = c.reply_to(second);
  ASSERT_TRUE(end);
  EXPECT_TRUE(std::get<join_reply>(end->body).done);
  EXPECT_FALSE(std::get<join_reply>(end->body).has_error);
}

TEST_F(own_errors, are_kept_over_a_restart) {
  config durable;
  durable.durable = true;
  cluster k(durable);
  auto const of = k.open({}, resumable_values()).id;
  auto specs = k.specs({"f"});
  specs[0].own_error = true;
  k.step(core::schedule{{}, of, std::move(specs)});
  bool told = false;
  for (auto const& f : k.fx().facts)
    if (auto const* accepted = std::get_if<accepted_fact>(&f))
      told = accepted->closures.at(0).own_error;
  EXPECT_TRUE(told);
}

// Only the client can end submitted closures: one test for each way in which a session fails.
struct session_failures : own_errors {
  using own_errors::own_errors;

  closure_id running, queued;

  void submit_four() {
    running = submit();
    submit(), submit();
    queued = submit();
    ASSERT_EQ(c.state(running), closure_state::running);
    ASSERT_EQ(c.state(queued), closure_state::queued);
  }
  void expect_undisturbed() {
    EXPECT_EQ(c.state(running), closure_state::running);
    EXPECT_EQ(c.state(queued), closure_state::queued);
    for (auto const& r : c.fx().stop_requests) EXPECT_NE(r.closure, running);
    c.succeed(w, running, "1");
    EXPECT_EQ(c.state(queued), closure_state::running);
    c.succeed(w, queued, "2");
    EXPECT_EQ(c.core.closures().find(queued)->data, blob("2"));
  }
};

TEST_F(session_failures, a_lost_object_or_variable_disturbs_no_submitted_call) {
  submit_four();
  auto const scheduled = schedule();
  c.step(task_state_lost{s, "ps", 0, "killed"});
  EXPECT_EQ(c.state(scheduled), closure_state::failed);
  EXPECT_EQ(c.noticed(s), (notices{notice_kind::failed, notice_kind::drained}));
  expect_undisturbed();
}

TEST_F(session_failures, an_object_lost_while_the_session_drains_disturbs_no_submitted_call) {
  auto const bad = schedule();
  schedule();
  auto const own = submit();
  c.fail(w, bad);
  ASSERT_TRUE(c.job(s).stopping);
  c.step(task_state_lost{s, "ps", 0, "killed"});
  EXPECT_EQ(c.state(own), closure_state::running);
  EXPECT_TRUE(c.fx().stop_requests.empty());
}

TEST_F(session_failures, the_lost_state_of_a_task_disturbs_no_submitted_call_but_its_own) {
  auto const ps = c.attach({.slots = 1, .credits = 1, .incarnation = 1, .job = "ps"});
  auto const on_ps = [&] {
    auto specs = c.specs({"f"});
    specs[0].own_error = true;
    auto x = std::make_shared<closure_extras>();
    x->options.task_job = "ps";
    x->options.task_index = 0;
    specs[0].extras = x;
    auto const token = specs[0].token;
    c.step(core::schedule{{}, s, std::move(specs)});
    return id(token);
  };
  auto const there = on_ps();
  auto const waits = on_ps();
  ASSERT_EQ(c.held(ps), closures{there});
  submit_four();
  auto const next = c.attach({.slots = 1, .credits = 1, .index = 0, .incarnation = 2, .job = "ps"});
  EXPECT_TRUE(c.held(next).empty()) << "it depends on another state";
  for (auto const lost : {there, waits}) {
    auto const ended = c.core.closures().find(lost);
    ASSERT_TRUE(ended && ended->error);
    EXPECT_EQ(ended->error->kind, failure_kind::dependency_lost);
    EXPECT_EQ(ended->error->dependencies, names{"ps:0"});
  }
  expect_undisturbed();
}

TEST_F(session_failures, call_bound_to_lost_state_fails_once_the_task_is_given_up) {
  auto const ps = c.attach({.slots = 1, .credits = 1, .incarnation = 1, .job = "ps"});
  auto specs = c.specs({"f"});
  specs[0].own_error = true;
  auto x = std::make_shared<closure_extras>();
  x->options.task_job = "ps";
  x->options.task_index = 0;
  specs[0].extras = x;
  auto const token = specs[0].token;
  c.step(core::schedule{{}, s, std::move(specs)});
  for (int i = 0; i < 12; ++i) c.advance(5s), c.alive(ps), c.alive(w);
  c.cut(ps);
  c.advance(c.core.configuration().reconnect_grace);
  auto const ended = c.core.closures().find(id(token));
  ASSERT_TRUE(ended && ended->error);
  EXPECT_EQ(ended->error->kind, failure_kind::dependency_lost);
}

TEST_F(session_failures,
       a_dependency_that_scheduled_calls_report_as_lost_disturbs_no_submitted_call) {
  auto const other = c.attach({.functions = {"g"}, .slots = 1, .credits = 1});
  submit_four();
  auto const token = c.schedule(s, {"g"})[0];
  for (int i = 0; i < 3; ++i) {
    auto r = c.bad(other, id(token), "ps is away", failure_kind::dependency_lost);
    r.failure->dependencies = {"ps:0"};
    c.answer(other, {std::move(r)});
    if (i < 2) c.advance(5s);
  }
  EXPECT_EQ(c.state(id(token)), closure_state::failed);
  expect_undisturbed();
}

TEST_F(session_failures,
       a_deadline_of_a_scheduled_call_or_of_the_session_disturbs_no_submitted_call) {
  auto spec = resumable_values();
  spec.deadline = 2s;
  s = c.open({}, spec).id;
  submit_four();
  auto specs = c.specs({"f"});
  auto x = std::make_shared<closure_extras>();
  x->options.deadline = 1s;
  specs[0].extras = x;
  auto const token = specs[0].token;
  c.step(core::schedule{{}, s, std::move(specs)});
  c.advance(1s);
  EXPECT_EQ(c.state(id(token)), closure_state::failed);
  EXPECT_EQ(c.job(s).generation, 2u);
  c.advance(1s);
  EXPECT_EQ(c.job(s).generation, 3u);
  expect_undisturbed();
}

struct full_server : session_failures {
  static config small() {
    config k;
    k.closures_max = 8;
    return k;
  }
  full_server() : session_failures(small()) {}
};

TEST_F(full_server, a_limit_that_scheduled_calls_exceed_disturbs_no_submitted_call) {
  submit_four();
  auto const full = c.schedule(s, names(5, "f"));
  ASSERT_FALSE(c.fx().outcomes.empty());
  EXPECT_EQ(c.state(id(full[0])), closure_state::failed);
  expect_undisturbed();
}

TEST_F(session_failures, a_scheduled_call_that_loses_too_many_workers_disturbs_no_submitted_call) {
  auto spec = resumable_values();
  spec.max_worker_failures = 1;
  s = c.open({}, spec).id;
  submit_four();
  auto const other = c.attach({.functions = {"g"}, .slots = 1, .credits = 1});
  auto const token = c.schedule(s, {"g"})[0];
  c.lose(other, "killed");
  EXPECT_EQ(c.state(id(token)), closure_state::failed);
  expect_undisturbed();
}

}  // namespace
}  // namespace muster::core
