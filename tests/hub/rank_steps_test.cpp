#include "server/hub/programs/rank_steps.hpp"

#include <gtest/gtest.h>

#include "server/core/programs/controller.hpp"
#include "tests/support/hub_sinks.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;

struct step_worker : hub_worker {
  void on_rank_orders(core::rank_orders const& o) override {
    for (auto const& s : o.starts) started.insert(started.end(), s.ranks.begin(), s.ranks.end());
    stops.insert(stops.end(), o.stops.begin(), o.stops.end());
  }
  void on_hold_steps(doctor::hold_steps const& h) override { held.push_back(h); }
  void on_stop_after(doctor::stop_after const& s) override { told.push_back(s); }

  std::vector<std::uint32_t> started;
  std::vector<core::rank_orders::stop> stops;
  std::vector<doctor::hold_steps> held;
  std::vector<doctor::stop_after> told;
};

struct steps_in_a_hub : testing::Test {
  core::time_point now{1'000h};
  hub h{core::config{}, hub_dependencies{[this] { return now; }, [](core::time_point) {}}};
  step_worker a, b;
  core::program_id p{};

  void attach(step_worker& w, std::uint64_t incarnation, std::string const& host,
              std::vector<core::held_rank> held = {}) {
    w.stream = h.attach(w);
    core::worker_attached e{w.stream, {}};
    e.spec.functions = {"f"};
    e.spec.incarnation = core::incarnation{incarnation};
    e.spec.host = host;
    e.programs = core::programs_offer{20'000, 20'099, 60s, host, std::move(held)};
    h.apply(e);
  }
  void begin(core::duration deadline = {}, core::duration notice = {}, std::string pattern = {}) {
    attach(a, 1, "a");
    attach(b, 2, "b");
    core::submit_program e;
    e.spec.command = {"true"};
    e.spec.deadline = deadline;
    e.spec.notice = notice;
    e.spec.step_pattern = std::move(pattern);
    e.spec.per_worker = 1;
    e.spec.max_restarts = 1;
    e.spec.tasks.push_back({.min = 2, .max = 2});
    h.ask(std::move(e), [](core::reply const&) {});
    p = h.state().programs().list({}, 1, {}).at(0).id;
    for (auto* w : {&a, &b})
      h.apply(core::rank_reports{w->stream, {{rank(w->started.at(0)), 70}}, {}, 0});
  }
  core::rank_name rank(std::uint32_t n, std::uint32_t attempt = 1) const { return {p, attempt, n}; }
  void say(step_worker const& w, std::uint32_t number, std::uint64_t step) {
    h.programs().steps().record(w.stream, {p, 1, 90ms, {{number, step, 80ms, {{step, 80ms}}}}});
  }
  void report_first_steps() {
    say(a, a.started[0], 4);
    say(b, b.started[0], 5);
  }
  void answer(step_worker const& w, std::uint64_t step) {
    h.programs().steps().deliver(w.stream, {w.held.back().query, {{w.started[0], step}}});
  }
  void end(step_worker const& w, std::uint32_t status = 0) {
    core::rank_reports const r{
        w.stream, {}, {{.name = rank(w.started[0]), .exit_status = status}}, 0};
    h.apply(r);
    h.programs().steps().record_ends(r);
  }
  core::program_view look() { return *h.state().programs().find(p); }
};

TEST_F(steps_in_a_hub, are_accepted_only_from_the_worker_of_the_rank) {
  begin();
  say(a, b.started[0], 99);
  EXPECT_FALSE(h.programs().steps().table().progress(p, 1, b.started[0]));
  say(b, b.started[0], 5);
  EXPECT_EQ(h.programs().steps().table().progress(p, 1, b.started[0])->step, 5u);
}

TEST_F(steps_in_a_hub, stop_a_program_that_succeeds_when_its_ranks_do) {
  begin();
  report_first_steps();
  std::optional<std::uint64_t> step;
  h.programs().steps().stop(p, 0, [&](auto const& r) { step = *r; });
  answer(a, 6);
  EXPECT_FALSE(step);
  answer(b, 5);
  EXPECT_EQ(step, 7u);
  EXPECT_EQ(a.told.at(0).step, 7u);
  EXPECT_EQ(b.told.at(0).step, 7u);
  auto view = look();
  h.programs().steps().fill(view, true);
  EXPECT_EQ(view.steps->stop_after, 7u);
  EXPECT_EQ(view.state, core::program_state::running);
  end(a);
  EXPECT_TRUE(b.stops.empty());
  end(b);
  EXPECT_EQ(look().state, core::program_state::succeeded);
}

TEST_F(steps_in_a_hub, ranks_without_steps_are_stopped_when_all_others_have_ended) {
  begin();
  say(a, a.started[0], 4);
  h.programs().steps().stop(p, 0, [](auto const&) {});
  answer(a, 4);
  h.programs().steps().deliver(b.stream, {b.held.back().query, {}});
  EXPECT_TRUE(b.stops.empty());
  end(a);
  ASSERT_EQ(b.stops.size(), 1u);
  EXPECT_FALSE(b.stops[0].by_step);
  EXPECT_EQ(look().state, core::program_state::stopping);
}

TEST_F(steps_in_a_hub, stop_applies_only_to_running_programs) {
  begin();
  muster::status why;
  auto const note = [&](muster::result<std::uint64_t> const& r) { why = r.error(); };
  h.programs().steps().stop(core::program_id{99}, 0, note);
  EXPECT_EQ(why.code, code::not_found);
  h.programs().steps().stop(p, 0, note);
  for (auto* w : {&a, &b}) h.programs().steps().deliver(w->stream, {w->held.back().query, {}});
  EXPECT_EQ(why.code, code::failed_precondition);
  end(a, 1);
  h.programs().steps().stop(p, 0, note);
  EXPECT_EQ(why.code, code::failed_precondition);
}

TEST_F(steps_in_a_hub, disconnected_or_silent_worker_causes_no_change) {
  begin();
  report_first_steps();
  muster::status why;
  auto const note = [&](muster::result<std::uint64_t> const& r) { why = r.error(); };
  h.programs().steps().stop(p, 0, note);
  now += doctor::step_stops::patience;
  h.on_deadline();
  EXPECT_EQ(why.code, code::unavailable);
  EXPECT_FALSE(a.told.back().step);
  why = {};
  h.programs().steps().stop(p, 0, note);
  h.detach(b.stream);
  h.apply(core::worker_disconnected{b.stream, false, "cut", true});
  EXPECT_EQ(why.code, code::unavailable);
  h.programs().steps().stop(p, 0, note);
  EXPECT_EQ(why.code, code::unavailable) << "it is disconnected";
}

TEST_F(steps_in_a_hub, agreed_step_is_sent_again_to_a_returning_worker) {
  begin();
  report_first_steps();
  h.programs().steps().stop(p, 0, [](auto const&) {});
  answer(a, 6);
  answer(b, 5);
  h.detach(b.stream);
  h.apply(core::worker_disconnected{b.stream, false, "cut", true});
  b.told.clear();
  attach(b, 2, "b", {{rank(b.started[0]), 70}});
  h.programs().steps().resume_worker(b.stream);
  ASSERT_EQ(b.told.size(), 1u);
  EXPECT_EQ(b.told[0].step, 7u);
  h.programs().steps().resume_worker(core::stream_id{99});
}

TEST_F(steps_in_a_hub, requested_stop_also_applies_to_the_next_attempt) {
  begin();
  report_first_steps();
  h.programs().steps().stop(p, 9, [](auto const& r) { EXPECT_EQ(*r, 9u); });
  answer(a, 6);
  answer(b, 5);
  EXPECT_EQ(look().stop_at, (core::agreed_stop{1, 9}));
  for (auto* w : {&a, &b}) {
    end(*w, 1);
    w->held.clear();
    w->told.clear();
  }
  auto const again = [&](step_worker& w) {
    h.apply(core::rank_reports{w.stream, {{rank(w.started.back(), 2), 71}}, {}, 0});
    h.programs().steps().record(w.stream, {p, 2, 90ms, {{w.started.back(), 3, 80ms, {{3, 80ms}}}}});
  };
  again(a);
  EXPECT_TRUE(a.held.empty()) << "not all have started";
  again(b);
  ASSERT_EQ(a.held.size(), 1u);
  ASSERT_EQ(b.held.size(), 1u);
  for (auto* w : {&a, &b})
    h.programs().steps().deliver(w->stream, {w->held.back().query, {{w->started.back(), 3}}});
  EXPECT_EQ(a.told.back().step, 9u);
  EXPECT_EQ(look().stop_at, (core::agreed_stop{2, 9}));
}

TEST_F(steps_in_a_hub, restarted_server_sends_an_agreed_step_again) {
  begin();
  report_first_steps();
  // Agreed with an earlier server process.
  h.apply(core::change_program{{}, p, core::program_command::stop_at, {1, 9}});
  a.told.clear();
  h.programs().steps().stop(p, 0, [](auto const& r) { EXPECT_EQ(*r, 9u); });
  answer(a, 9);
  answer(b, 6);
  EXPECT_EQ(b.told.back().step, 9u) << "an agreement is final once a rank can have reached it";
}

TEST_F(steps_in_a_hub, draining_worker_preempts_the_attempt_which_restarts_elsewhere) {
  begin();
  report_first_steps();
  step_worker c;
  attach(c, 3, "c");
  h.apply(core::worker_drain{a.stream, true});
  ASSERT_EQ(a.held.size(), 1u);
  ASSERT_EQ(b.held.size(), 1u);
  answer(a, 6);
  answer(b, 6);
  EXPECT_EQ(look().state, core::program_state::restarting);
  EXPECT_TRUE(a.stops.empty());
  EXPECT_TRUE(b.stops.empty());
  end(a);
  end(b);
  EXPECT_EQ(look().state, core::program_state::starting);
  EXPECT_EQ(c.started.size(), 1u);
  auto const attempts = *h.state().programs().attempts_of(p);
  EXPECT_EQ(attempts.at(0).end, core::program_end::preempted);
  EXPECT_NE(attempts.at(0).cause->text.find("after step 7"), std::string::npos);
}

// The steps of the first second are not reported yet when the worker is asked to leave.
TEST_F(steps_in_a_hub, draining_worker_preempts_the_attempt_when_its_first_step_is_reported) {
  begin();
  h.apply(core::worker_drain{a.stream, true});
  EXPECT_TRUE(a.held.empty());
  say(b, b.started[0], 5);
  ASSERT_EQ(a.held.size(), 1u);
  answer(a, 6);
  answer(b, 6);
  EXPECT_EQ(look().state, core::program_state::restarting);
  EXPECT_EQ(b.told.back().step, 7u);
  end(a);
  end(b);
  auto const attempts = *h.state().programs().attempts_of(p);
  EXPECT_EQ(attempts.at(0).end, core::program_end::preempted);
}

TEST_F(steps_in_a_hub, first_step_preempts_no_attempt_after_the_draining_worker_has_left) {
  begin();
  h.apply(core::worker_drain{a.stream, true});
  end(a, 1);
  h.detach(a.stream);
  h.apply(core::worker_disconnected{a.stream, true, "left", true});
  say(b, b.started[0], 5);
  EXPECT_TRUE(b.held.empty());
}

TEST_F(steps_in_a_hub, notice_uses_an_agreed_step_or_else_a_signal) {
  begin(100s, 40s);
  report_first_steps();
  auto const until = now + 61s;
  for (std::uint64_t lease = 1; now < until; now += 1s, ++lease) {
    for (auto* w : {&a, &b}) {
      h.apply(core::worker_alive{w->stream});
      h.apply(core::rank_reports{w->stream, {}, {}, lease});
    }
    h.on_deadline();
  }
  h.on_deadline();
  ASSERT_EQ(a.stops.size(), 1u);
  EXPECT_TRUE(a.stops[0].by_step);
  ASSERT_EQ(a.held.size(), 1u);
  answer(a, 6);
  h.programs().steps().deliver(b.stream, {99, {}});
  EXPECT_TRUE(a.told.empty());
  now += doctor::step_stops::patience;
  h.on_deadline();
  ASSERT_EQ(a.stops.size(), 2u) << "none was agreed on";
  EXPECT_FALSE(a.stops[1].by_step);
}

TEST_F(steps_in_a_hub, steps_parsed_from_output_stop_no_program) {
  begin({}, {}, "step (\\d+)");
  report_first_steps();
  ASSERT_TRUE(h.state().programs().find(p));
  core::program_view shown = *h.state().programs().find(p);
  h.programs().steps().fill(shown, false);
  ASSERT_TRUE(shown.steps) << "they are shown";
  std::optional<muster::status> told;
  h.programs().steps().stop(
      p, 0, [&told](auto const& step) { told = step ? muster::status{} : step.error(); });
  ASSERT_TRUE(told);
  EXPECT_EQ(told->code, muster::code::failed_precondition);
  EXPECT_TRUE(a.held.empty() && b.held.empty());
  h.apply(core::worker_drain{a.stream, true});
  EXPECT_TRUE(a.held.empty()) << "a leaving worker requests no step either";
}

}  // namespace
}  // namespace muster::server
