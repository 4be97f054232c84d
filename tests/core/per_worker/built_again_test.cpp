#include "server/core/api/id_text.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {

std::string text(per_worker_id id);  // defined by the coordinator
namespace {

struct built_again : testing::Test {
  cluster c;
  joining const has_it{.functions = {"f", "make"}, .slots = 1, .credits = 4};

  static per_worker_id create(cluster& c, session_id owner = {}) {
    create_per_worker e;
    e.function = c.function("make");
    e.args = blob("[]");
    e.owner = owner;
    auto const r = c.reply_to_event(std::move(e));
    EXPECT_TRUE(r.status.ok()) << r.status.message;
    return std::get<per_worker_reply>(r.body).id;
  }
  static per_worker_view::component part(cluster const& c, per_worker_id v, std::size_t i = 0) {
    return c.core.per_worker().find(v)->components.at(i);
  }
  static void report(cluster& c, stream_id w, std::string const& dependency = "ps:0") {
    auto r = c.bad(w, c.held(w).at(0), "ps is away", failure_kind::dependency_lost);
    r.failure->dependencies = {dependency};
    c.answer(w, {std::move(r)});
  }
  static void time_out(cluster& c, stream_id w) {
    c.fail(w, c.held(w).at(0), "too slow", failure_kind::timeout);
  }
};

TEST_F(built_again, failed_build_is_retried_after_a_second_and_then_usable) {
  auto const w = c.attach(has_it);
  auto const v = create(c);
  closure_spec needs = c.specs({"f"}).front();
  needs.extras = std::make_shared<closure_extras>(closure_extras{{}, {}, {v}});
  auto const job = c.open_with({needs});
  report(c, w);
  EXPECT_EQ(part(c, v).state, value_state::not_ready);
  EXPECT_EQ(part(c, v).error->message, "ps is away") << "the reason of the rebuild";
  EXPECT_EQ(
      c.said(),
      (std::vector{log_event{log_event_kind::dependency_lost, "ps:0",
                             "reported by worker:0, 1 of 3 times within 10 min: ps is away"}}));
  c.advance(999ms);
  EXPECT_TRUE(c.held(w).empty());
  c.advance(1ms);
  ASSERT_EQ(c.held(w).size(), 1u);
  EXPECT_EQ(c.fx().assignments.at(0).builds, v);
  c.succeed(w, c.held(w).at(0), "null");
  EXPECT_EQ(part(c, v).state, value_state::ready);
  EXPECT_FALSE(part(c, v).error);
  EXPECT_EQ(c.held(w), job.closures);
}

TEST_F(built_again, the_third_report_within_the_window_is_the_components_error) {
  auto const w = c.attach(has_it);
  auto const v = create(c);
  report(c, w);
  c.advance(1s);
  report(c, w);
  c.advance(2s);
  report(c, w);
  EXPECT_EQ(part(c, v).state, value_state::ready);
  EXPECT_EQ(part(c, v).error->kind, failure_kind::dependency_lost);
  EXPECT_EQ(part(c, v).error->message,
            "UNAVAILABLE: ps:0 is lost: reported 3 times within 10 min, the last by worker:0: ps "
            "is away");
  c.advance(1min);
  EXPECT_TRUE(c.held(w).empty());
}

TEST_F(built_again, failures_are_counted_per_component_and_forgotten_after_a_success) {
  auto const a = c.attach(has_it);
  auto const b = c.attach(has_it);
  auto const v = create(c);
  for (int i = 0; i < 2; ++i) {
    report(c, a);
    report(c, b);
    c.advance(2s);
  }
  EXPECT_EQ(part(c, v, 0).state, value_state::not_ready);
  EXPECT_EQ(part(c, v, 1).state, value_state::not_ready);
  c.succeed(a, c.held(a).at(0), "null");
  auto const other = create(c);
  report(c, a);
  EXPECT_EQ(part(c, other, 0).state, value_state::not_ready);
}

TEST_F(built_again, failures_outside_the_window_are_not_counted) {
  config short_window;
  short_window.transient_window = 500ms;
  short_window.heartbeat_timeout = std::chrono::hours(1);
  cluster d(short_window);
  auto const w = d.attach(has_it);
  auto const v = create(d);
  for (int i = 0; i < 8; ++i) {
    report(d, w);
    d.advance(1min);
    ASSERT_EQ(d.held(w).size(), 1u) << i;
    ASSERT_EQ(part(d, v).state, value_state::not_ready) << i;
  }
}

TEST_F(built_again, the_pause_doubles_up_to_a_minute) {
  config patient;
  patient.transient_dependency_failures = 100;
  patient.heartbeat_timeout = std::chrono::hours(1);
  cluster d(patient);
  auto const w = d.attach(has_it);
  create(d);
  for (auto const pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    report(d, w);
    d.advance(pause - 1ms);
    EXPECT_TRUE(d.held(w).empty());
    d.advance(1ms);
    ASSERT_EQ(d.held(w).size(), 1u) << pause.count();
  }
}

TEST_F(built_again, timeouts_are_retried_as_often_as_for_closures) {
  config limit;
  limit.transient_timeouts = 2;
  cluster d(limit);
  auto const w = d.attach(has_it);
  auto const v = create(d);
  time_out(d, w);
  EXPECT_EQ(part(d, v).state, value_state::not_ready);
  d.advance(1s);
  time_out(d, w);
  EXPECT_EQ(part(d, v).state, value_state::ready);
  EXPECT_EQ(part(d, v).error->kind, failure_kind::timeout);
}

TEST_F(built_again, invalid_reports_and_builder_errors_are_not_retried) {
  auto const w = c.attach(has_it);
  auto const v = create(c);
  report(c, w, "not a task");
  EXPECT_EQ(part(c, v).state, value_state::ready);
  EXPECT_EQ(part(c, v).error->type, "muster::invalid_dependency");
  auto const other = create(c);
  c.fail(w, c.held(w).at(0), "no such file");
  EXPECT_EQ(part(c, other).error->message, "no such file");
}

TEST_F(built_again, value_released_during_the_pause_is_dropped_and_not_built) {
  auto const w = c.attach(has_it);
  auto const v = create(c);
  report(c, w);
  EXPECT_TRUE(c.status_of(delete_per_worker{{}, v}).ok());
  EXPECT_EQ(c.fx().drop_requests, (std::vector{drop_request{w, v}}))
      << "the worker keeps the failure under its handle";
  EXPECT_EQ(c.core.next_deadline() - c.now(), c.core.configuration().late_after());
  c.advance(2s);
  EXPECT_TRUE(c.held(w).empty());
}

TEST_F(built_again, the_next_incarnation_need_not_wait) {
  auto const w = c.attach(has_it);
  auto const v = create(c);
  report(c, w);
  c.lose(w);
  EXPECT_EQ(part(c, v).state, value_state::aborted);
  auto const next = c.attach(has_it);
  EXPECT_EQ(c.held(next).size(), 1u);
  c.advance(5s);
  EXPECT_EQ(c.held(next).size(), 1u) << "and it is built once";
}

TEST_F(built_again, returning_worker_builds_the_value_once) {
  auto same = has_it;
  same.incarnation = 42;
  auto const w = c.attach(same);
  create(c);
  report(c, w);
  auto const job = c.open({"f"});
  c.wait(800ms);
  c.cut(w);
  auto const back = c.come_back(same, job.closures);
  ASSERT_EQ(c.held(back).size(), 2u) << "at once";
  c.advance(3s);
  EXPECT_EQ(c.held(back).size(), 2u);
}

TEST_F(built_again, the_owner_relies_on_the_state_that_its_builder_named) {
  auto const w = c.attach(has_it);
  auto const ps = c.attach({.functions = {"g"}, .job = "ps"});
  auto const s = c.open({}, resumable_values()).id;
  create(c, s);
  report(c, w);
  EXPECT_TRUE(c.noticed(s).empty());
  c.leave(ps);
  ASSERT_FALSE(c.noticed(s).empty());
  EXPECT_EQ(c.fx().notices[0].kind, notice_kind::failed);
  EXPECT_EQ(c.fx().notices[0].failure.dependencies, names{"ps:0"});
}

}  // namespace
}  // namespace muster::core
