#include <gtest/gtest.h>

#include "server/core/programs/controller.hpp"
#include "server/hub/hub.hpp"
#include "tests/support/hub_sinks.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;
using core::hang_policy;

struct asked_worker : hub_worker {
  void on_rank_orders(core::rank_orders const& o) override {
    for (auto const& s : o.starts) starts.push_back(s);
    stops += o.stops.size();
  }
  void on_vitals_query(vitals_query const& q) override { vitals.push_back(q); }
  void on_stacks_query(stacks_query const& q) override { stacks.push_back(q); }
  std::vector<core::rank_orders::start> starts;
  std::size_t stops = 0;
  std::vector<vitals_query> vitals;
  std::vector<stacks_query> stacks;
};

struct doctor_of_programs : testing::Test {
  core::time_point now{std::chrono::seconds(1'700'000'000)};
  core::time_point armed = core::never;
  std::vector<std::string> events;
  hub h{core::config{}, [this] {
          hub_dependencies d{[this] { return now; }, [this](core::time_point t) { armed = t; }};
          d.events.to_log = [this](log_event const& e) {
            events.push_back(e.kind + ": " + e.text);
          };
          return d;
        }()};
  asked_worker w, other;
  core::program_id id{};
  std::uint64_t output = 0;
  bool answers = true;

  void attach(asked_worker& to, std::uint64_t incarnation, std::uint32_t gpus) {
    to.stream = h.attach(to);
    core::worker_attached e{to.stream, {}};
    e.spec.functions = {"f"};
    e.spec.incarnation = core::incarnation{incarnation};
    e.spec.host = "host-" + std::to_string(incarnation);
    e.spec.resources = {{"gpu", gpus}};
    auto const port = static_cast<std::uint32_t>(20'000 + 100 * incarnation);
    e.programs = core::programs_offer{port, port + 99, 60s, e.spec.host, {}};
    h.apply(e);
  }
  void run(std::uint32_t ranks, hang_policy what, std::uint32_t max_restarts = 0) {
    attach(w, 1, 2);
    attach(other, 2, 2);
    core::submit_program e;
    e.spec.name = "train";
    e.spec.command = {"true"};
    e.spec.tasks.push_back({.min = ranks, .max = ranks, .resources = {{"gpu", 1}}});
    e.spec.on_hang = what;
    e.spec.hang_after = 2s;
    e.spec.max_restarts = max_restarts;
    h.ask(std::move(e), [](core::reply const& r) { EXPECT_TRUE(r.status.ok()); });
    id = h.state().programs().list({}, 1, {}).at(0).id;
    start(1);
  }
  void start(std::uint32_t attempt) {
    for (auto* one : {&w, &other})
      for (auto const& s : std::exchange(one->starts, {}))
        for (auto const rank : s.ranks)
          h.apply(core::rank_reports{one->stream, {{{id, attempt, rank}, 100 + rank, {}}}, {}, 0});
  }
  core::program_state state() { return h.state().programs().find(id)->state; }
  /// Workers answer at once if `answers` is set.
  void live(core::duration d) {
    auto const until = now + d;
    while (armed <= until) {
      now = std::max(now, std::exchange(armed, core::never));
      h.on_deadline();
      if (answers) answer();
    }
    now = until;
  }
  void answer() {
    for (auto* one : {&w, &other}) {
      for (auto const& q : std::exchange(one->vitals, {})) {
        vitals_answer a{q.number, {}};
        for (auto const r : q.ranks) a.ranks.push_back({.rank = r, .state = 'S', .output = output});
        h.programs().doctor().deliver(one->stream, std::move(a));
      }
      for (auto const& q : std::exchange(one->stacks, {})) {
        stacks_answer a{q.number, false, {}};
        for (auto const r : q.ranks)
          a.stacks.push_back({r, stack_state::taken,
                              "  File \"train.py\", line " + std::to_string(r == 2 ? 12 : 40) +
                                  " in step\nA process that it has started (x):\n" +
                                  std::to_string(r),
                              "S in pipe_read"});
        h.workers().stacks().deliver(one->stream, std::move(a));
      }
    }
  }
};

TEST_F(doctor_of_programs, reports_which_rank_hangs_and_that_it_makes_progress_again) {
  run(4, hang_policy::tell);
  EXPECT_EQ(h.programs().doctor().watched(), 1u);
  live(1s);
  EXPECT_FALSE(h.programs().doctor().hang_of(id));
  live(4s);
  auto const found = h.programs().doctor().hang_of(id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->task, "worker:2");
  EXPECT_EQ(found->host, "host-2");
  EXPECT_EQ(found->line, "train.py:12 in step");
  EXPECT_EQ(found->waiting, (std::vector<std::string>{"worker:0", "worker:1", "worker:3"}));
  EXPECT_EQ(h.programs().doctor().hanging(9), std::vector{id});
  EXPECT_EQ(state(), core::program_state::running) << "it is only reported";
  output = 7;
  live(2s);
  EXPECT_FALSE(h.programs().doctor().hang_of(id));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(
      events[0].starts_with("program_hangs: 'train' hangs: rank 2 on host-2 blocks the others: "));
  EXPECT_EQ(events[1],
            "program_moves_again: 'train' makes progress again after it was reported as hanging");
}

// A step is stronger evidence than an odd stack.
TEST_F(doctor_of_programs, uses_the_steps_that_ranks_reported) {
  run(4, hang_policy::tell);
  auto const say = [&](asked_worker const& by, std::uint32_t rank, std::uint64_t step) {
    h.programs().steps().record(by.stream, {id, 1, 1s, {{.rank = rank, .step = step, .at = 1s}}});
  };
  say(w, 0, 8);
  say(w, 1, 7);
  say(other, 2, 8);
  say(other, 3, 8);
  live(5s);
  auto const found = h.programs().doctor().hang_of(id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->evidence, core::hang_evidence::step);
  EXPECT_EQ(found->task, "worker:1");
}

TEST_F(doctor_of_programs, restarts_the_program_if_the_policy_says_so) {
  run(4, hang_policy::restart, 1);
  live(5s);
  EXPECT_EQ(state(), core::program_state::restarting);
  EXPECT_EQ(h.programs().doctor().watched(), 0u);
  EXPECT_FALSE(h.programs().doctor().hang_of(id));
  for (std::uint32_t r = 0; r < 4; ++r)
    h.apply(core::rank_reports{r < 2 ? w.stream : other.stream,
                               {},
                               {{.name = {id, 1, r}, .signal = 15, .stopped = true}},
                               0});
  start(2);
  EXPECT_EQ(h.state().programs().attempts_of(id)->front().end, core::program_end::hung);
  EXPECT_EQ(state(), core::program_state::running);
  EXPECT_EQ(h.programs().doctor().watched(), 1u) << "the next attempt is watched too";
  output = 3;
  live(1s);
  EXPECT_EQ(state(), core::program_state::running);
}

TEST_F(doctor_of_programs, polls_less_and_blames_no_rank_while_workers_do_not_answer) {
  run(4, hang_policy::abort);
  answers = false;
  live(30s);
  EXPECT_EQ(state(), core::program_state::running);
  EXPECT_LE(w.vitals.size(), 15u) << "after two seconds without an answer";
  EXPECT_GE(w.vitals.size(), 5u);
  EXPECT_TRUE(w.stacks.empty());
}

TEST_F(doctor_of_programs, ignores_answers_of_workers_that_were_not_asked) {
  run(4, hang_policy::tell);
  answers = false;
  live(500ms);
  ASSERT_FALSE(other.vitals.empty());
  auto const number = other.vitals.back().number;
  h.programs().doctor().deliver(w.stream, {number, {{.rank = 2, .output = 1}}});
  h.programs().doctor().deliver(other.stream, {number + 99, {}});
  h.programs().doctor().forget_worker(other.stream);
  h.programs().doctor().deliver(other.stream, {number, {}});
}

TEST_F(doctor_of_programs, does_not_poll_unwatched_programs) {
  run(4, hang_policy::off);
  live(30s);
  EXPECT_TRUE(w.vitals.empty());
  EXPECT_EQ(h.programs().doctor().watched(), 0u);
}

TEST_F(doctor_of_programs, watches_a_single_rank_only_for_policies_that_act) {
  run(1, hang_policy::tell);
  EXPECT_EQ(h.programs().doctor().watched(), 0u) << "it can wait for an external caller";
  run(1, hang_policy::abort);
  EXPECT_EQ(h.programs().doctor().watched(), 1u);
}

TEST_F(doctor_of_programs, number_of_watched_programs_is_limited) {
  w.stream = h.attach(w);
  core::worker_attached e{w.stream, {}};
  e.spec.functions = {"f"};
  e.spec.incarnation = core::incarnation{1};
  e.programs = core::programs_offer{20'000, 29'999, 60s, "host-1", {}};
  h.apply(e);
  for (std::size_t i = 0; i <= program_doctor::programs_max; ++i) {
    core::submit_program one;
    one.spec.name = "alone";
    one.spec.command = {"true"};
    one.spec.tasks.push_back({.min = 1, .max = 1});
    one.spec.on_hang = hang_policy::abort;
    h.ask(std::move(one), [](core::reply const& r) { EXPECT_TRUE(r.status.ok()); });
  }
  auto const starts = std::exchange(w.starts, {});
  ASSERT_EQ(starts.size(), program_doctor::programs_max + 1);
  for (auto const& s : starts)
    h.apply(core::rank_reports{w.stream, {{{s.sheet->program, 1, 0}, 100, {}}}, {}, 0});
  EXPECT_EQ(h.programs().doctor().watched(), program_doctor::programs_max);
}

}  // namespace
}  // namespace muster::server
