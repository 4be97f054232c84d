#include <gtest/gtest.h>

#include "tests/doctor/model_ranks.hpp"

namespace muster::doctor {
namespace {

using core::hang_evidence;
using does = model_rank::does;

constexpr auto long_ago = 10min;

TEST(hang_watch, is_found_when_nothing_moves_and_the_odd_stack_is_named) {
  model_program p(4);
  p.ranks[2].line = "\"train.py\", line 12 in step";
  auto const begun = p.now;
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_LE(p.now - begun, 60s + 20s);
  auto const& h = *p.watch.found();
  EXPECT_EQ(h.rank, 2);
  EXPECT_EQ(h.evidence, hang_evidence::stack);
  EXPECT_EQ(h.line, "train.py:12 in step");
  EXPECT_EQ(h.waiting_line, "wait.py:3 in wait");
  EXPECT_EQ(p.watch.waiting(), (std::vector<std::uint32_t>{0, 1, 3}));
  EXPECT_GE(h.found - h.since, 60s);
  EXPECT_EQ(p.asked, 2) << "no rank is asked for stacks before that";
}

// After a restart of the server: the same ranks, and the verdict of the earlier process.
TEST(hang_watch, restored_hang_lasts_until_its_rank_makes_progress) {
  model_program p(4, 2s);
  core::hang known;
  known.rank = 2;
  known.evidence = hang_evidence::step;
  known.since = p.now - 20min;
  known.found = known.since + 2s;
  p.watch.restore(known);
  EXPECT_EQ(p.watch.waiting(), (std::vector<std::uint32_t>{0, 1, 3}));
  EXPECT_EQ(p.run(2s), hang_change::none);
  for (auto& r : p.ranks) r.step = 60;  // a worker repeats the steps of its ranks
  EXPECT_EQ(p.run(long_ago), hang_change::none);
  ASSERT_TRUE(p.watch.found());
  EXPECT_EQ(*p.watch.found(), known) << "a verdict without a culprit does not replace it";
  p.ranks[0].output += 9;
  EXPECT_EQ(p.run(10s), hang_change::none) << "a waiting rank can print that it waits";
  p.ranks[2].step = 61;
  EXPECT_EQ(p.run(10s), hang_change::over);
}

TEST(hang_watch, restored_hang_without_a_culprit_can_name_one_later) {
  model_program p(4, 2s);
  core::hang known;
  known.since = p.now - 20min;
  known.found = known.since + 2s;
  p.watch.restore(known);
  p.ranks[1].line = "\"train.py\", line 12 in step";
  EXPECT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 1);
}

TEST(hang_watch, of_a_loop_in_c_is_given_twice_the_time_and_found) {
  model_program p(3, 2s);
  p.ranks[1].now = does::spins;
  p.ranks[1].line = "\"train.py\", line 5 in parse";
  auto const begun = p.now;
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 1);
  EXPECT_GE(p.now - begun, 4s);
  EXPECT_LE(p.now - begun, 7s) << "within 5 s of the threshold";
}

TEST(hang_watch, of_a_sleeping_rank_among_spinning_ones_is_found) {
  model_program p(8, 2s);
  for (auto& r : p.ranks) r.now = does::spins;
  p.ranks[6].now = does::waits;
  p.ranks[6].line = "\"train.py\", line 12 in step";
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 6);
}

TEST(hang_watch, names_the_stopped_rank_even_of_two) {
  model_program p(2, 2s);
  p.ranks[1].now = does::stopped;
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 1);
  EXPECT_EQ(p.by(), hang_evidence::stopped);
}

TEST(hang_watch, names_the_rank_in_a_blocking_system_call) {
  model_program p(2, 2s);
  p.ranks[0].now = does::in_kernel;
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 0);
  EXPECT_EQ(p.by(), hang_evidence::in_kernel);
}

// Rank 0 waits elsewhere because it is the root of the operation.
TEST(hang_watch, names_the_sleeping_rank_when_all_others_wait) {
  model_program p(4, 2s);
  p.ranks[0].line = "\"train.py\", line 50 in gather";
  p.ranks[1].line = "\"train.py\", line 12 in step";
  p.ranks[1].in_kernel_at = "hrtimer_nanosleep";
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 1);
  EXPECT_EQ(p.by(), hang_evidence::stack);
}

TEST(hang_watch, does_not_name_a_rank_that_polls) {
  model_program p(4, 2s);
  p.ranks[0].line = "\"train.py\", line 50 in poll";
  p.ranks[0].in_kernel_at = "hrtimer_nanosleep";
  p.ranks[1].line = "\"train.py\", line 12 in step";
  for (int i = 0; i < 100 && !p.watch.found(); ++i) {
    p.ranks[0].wakeups += 5;
    p.run(100ms);
  }
  ASSERT_TRUE(p.watch.found());
  EXPECT_EQ(p.named(), -1);
}

TEST(hang_watch, of_two_ranks_in_different_places_names_none) {
  model_program p(2, 2s);
  p.ranks[1].line = "\"train.py\", line 12 in step";
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), -1);
  EXPECT_EQ(p.by(), hang_evidence::undecided);
  EXPECT_EQ(p.watch.found()->waiting_line,
            "wait.py:3 in wait (rank 0) and train.py:12 in step (rank 1)");
  EXPECT_EQ(p.watch.waiting().size(), 2u);
}

TEST(hang_watch, of_stages_that_each_wait_elsewhere_names_none) {
  model_program p(4, 2s);
  for (std::size_t i = 0; i < p.ranks.size(); ++i)
    p.ranks[i].line = "\"stage.py\", line " + std::to_string(i) + " in run";
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), -1);
}

TEST(hang_watch, prefers_the_rank_missing_at_a_barrier) {
  model_program p(3, 2s);
  p.ranks[2].line = "\"train.py\", line 12 in step";
  p.barriers = {{"step_7", p.now, 100ms, {1}}};
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 1);
  EXPECT_EQ(p.by(), hang_evidence::barrier);
  EXPECT_EQ(p.watch.found()->barrier, "step_7");
}

TEST(hang_watch, reports_a_stopped_rank_missing_at_a_barrier_as_stopped) {
  model_program p(3, 2s);
  p.ranks[1].now = does::stopped;
  p.barriers = {{"step_7", p.now, 100ms, {1}}};
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 1);
  EXPECT_EQ(p.by(), hang_evidence::stopped);
}

TEST(hang_watch, at_a_late_barrier_is_found_although_others_print) {
  model_program p(3, 2s);
  p.ranks[0].now = does::prints;
  p.barriers = {{"step_7", p.now, 100ms, {1}}};
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 1);
}

TEST(hang_watch, at_a_barrier_is_not_reported_before_its_usual_lateness) {
  model_program p(3, 2s);
  p.ranks[0].now = does::prints;
  p.barriers = {{"epoch", p.now, 10s, {1}}};
  EXPECT_EQ(p.run(90s), hang_change::none);
  EXPECT_EQ(p.run(30s), hang_change::found);
}

TEST(hang_watch, names_the_rank_that_waits_alone_at_another_barrier) {
  for (bool const it_came_first : {true, false}) {
    model_program p(4, 2s);
    auto const sooner = p.now, later = p.now + 100ms;
    p.barriers = {{"save", it_came_first ? sooner : later, 100ms, {0, 2, 3}},
                  {"step_7", it_came_first ? later : sooner, 100ms, {1}}};
    ASSERT_EQ(p.run(long_ago), hang_change::found);
    EXPECT_EQ(p.named(), 1);
    EXPECT_EQ(p.by(), hang_evidence::barrier);
    EXPECT_EQ(p.watch.found()->barrier, "step_7");
  }
}

TEST(hang_watch, names_none_of_two_ranks_at_two_barriers) {
  model_program p(2, 2s);
  p.barriers = {{"save", p.now, 100ms, {0}}, {"step_7", p.now + 100ms, 100ms, {1}}};
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), -1);
}

TEST(hang_watch, of_several_ranks_missing_at_a_barrier_names_the_odd_one) {
  model_program p(5, 2s);
  p.barriers = {{"step_7", p.now, 100ms, {1, 3}}};
  p.ranks[3].line = "\"train.py\", line 12 in step";
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 3);
  EXPECT_EQ(p.by(), hang_evidence::stack);
}

TEST(hang_watch, names_the_rank_whose_step_is_behind) {
  model_program p(2, 2s);
  p.ranks[0].step = 8;
  p.ranks[1].step = 7;
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 1);
  EXPECT_EQ(p.by(), hang_evidence::step);
}

TEST(hang_watch, is_not_reported_before_a_step_is_unusually_late) {
  model_program p(3, 2s);
  for (auto& r : p.ranks) r.step = 4;
  p.usual_step = 30s;
  EXPECT_EQ(p.run(299s), hang_change::none);
  EXPECT_EQ(p.run(30s), hang_change::found);
}

TEST(hang_watch, names_a_rank_that_ended_while_all_others_wait_for_it) {
  model_program p(3, 2s);
  p.watch.ended(p.now, 2);
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 2);
  EXPECT_EQ(p.by(), hang_evidence::ended);
}

TEST(hang_watch, of_other_languages_is_found_by_kernel_state) {
  model_program p(3, 2s);
  p.python = false;
  p.ranks[2].now = does::spins;
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 2);
}

TEST(hang_watch, in_native_code_is_found_although_a_loop_moves) {
  model_program p(4, 2s);
  p.native = true;
  for (auto& r : p.ranks) r.line = "\"train.cpp\", line 6 in reduce(int)";
  p.ranks[2].now = does::spins;
  p.ranks[2].line = "\"train.cpp\", line 9 in step(int)";
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 2);
  EXPECT_EQ(p.watch.found()->line, "train.cpp:9 in step(int)");
  EXPECT_EQ(p.watch.found()->waiting_line, "train.cpp:6 in reduce(int)");
}

TEST(hang_watch, in_sleeping_native_code_is_found_by_the_odd_stack) {
  model_program p(4, 2s);
  p.native = true;
  for (auto& r : p.ranks) r.line = "\"train\" in reduce(int)";
  p.ranks[1].line = "\"train\" in load(int)";
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 1);
  EXPECT_EQ(p.by(), hang_evidence::stack);
  EXPECT_EQ(p.watch.found()->line, "train in load(int)");
}

TEST(hang_watch, ends_when_the_named_rank_makes_progress) {
  model_program p(4, 2s);
  p.ranks[2].line = "\"train.py\", line 12 in step";
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  p.ranks[0].now = does::prints;
  EXPECT_EQ(p.run(30s), hang_change::none) << "a waiting rank can print that";
  p.ranks[2].now = does::prints;
  EXPECT_EQ(p.run(30s), hang_change::over);
  EXPECT_FALSE(p.watch.found());
  EXPECT_TRUE(p.watch.waiting().empty());
}

TEST(hang_watch, undecided_hang_is_examined_again) {
  model_program p(3, 2s);
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), -1);
  EXPECT_EQ(p.run(1h), hang_change::none) << "reported once";
  EXPECT_LE(p.asked, 40) << "at growing intervals, as it may wait by design";
  p.ranks[1].now = does::stopped;
  ASSERT_EQ(p.run(130s), hang_change::found);
  EXPECT_EQ(p.named(), 1);
}

TEST(hang_watch, is_not_reported_while_a_worker_does_not_answer) {
  model_program p(3, 2s);
  p.unseen = 1;
  EXPECT_EQ(p.run(long_ago), hang_change::none);
  p.unseen = -1;
  EXPECT_EQ(p.run(long_ago), hang_change::found);
}

TEST(hang_watch, is_not_reported_while_any_rank_makes_progress) {
  for (auto const what : {does::computes, does::writes, does::prints, does::compiles}) {
    model_program p(4, 2s);
    p.ranks[0].now = what;
    p.ranks[0].line = "\"train.py\", line 50 in save";
    EXPECT_EQ(p.run(long_ago), hang_change::none) << static_cast<int>(what);
  }
}

TEST(hang_watch, is_not_reported_while_all_ranks_compute_in_one_place) {
  model_program p(4, 2s);
  for (auto& r : p.ranks) r.now = does::spins;
  EXPECT_EQ(p.run(long_ago), hang_change::none);
}

TEST(hang_watch, is_not_reported_while_a_stack_changes) {
  model_program p(4, 2s);
  for (int i = 0; i < 600; ++i) {
    p.ranks[0].line = "\"train.py\", line " + std::to_string(i) + " in save";
    EXPECT_EQ(p.run(500ms), hang_change::none);
  }
}

TEST(hang_watch, is_not_reported_while_the_cluster_is_used) {
  model_program p(4, 2s);
  for (int i = 0; i < 100; ++i, ++p.activity) EXPECT_EQ(p.run(1s), hang_change::none);
}

TEST(hang_watch, is_not_reported_while_the_missing_rank_writes_a_checkpoint) {
  model_program p(4, 2s);
  p.barriers = {{"saved", p.now, 100ms, {0}}};
  p.ranks[0].now = does::writes;
  EXPECT_EQ(p.run(long_ago), hang_change::none);
}

TEST(hang_watch, ignores_ps_and_evaluators) {
  model_program p(2s, {true, true, true, false, false});
  p.ranks[3].now = does::prints;
  p.ranks[4].now = does::stopped;
  p.ranks[1].line = "\"train.py\", line 12 in step";
  ASSERT_EQ(p.run(long_ago), hang_change::found);
  EXPECT_EQ(p.named(), 1);
}

TEST(source_line, is_the_first_outside_of_pythons_own_library) {
  EXPECT_EQ(line_of("Thread (most recent call first):\n  File \"other.py\", line 1 in other\n\n"
                    "Current thread (most recent call first):\n"
                    "  File \"/usr/lib/python3.11/re/__init__.py\", line 166 in match\n"
                    "  File \"/srv/my train.py\", line 10 in parse\n"
                    "  File \"/srv/my train.py\", line 20 in <module>\n"),
            "/srv/my train.py:10 in parse");
  EXPECT_EQ(line_of("Current thread (most recent call first):\n"
                    "  File \"/usr/lib/python3.11/re/__init__.py\", line 166 in match\n"),
            "/usr/lib/python3.11/re/__init__.py:166 in match");
  EXPECT_EQ(line_of("Thread pool and 2 alike (most recent call first):\n"
                    "  File \"/src/pool.cpp\", line 3 in wait()\n"
                    "Thread train (most recent call first):\n"
                    "  File \"libc.so.6\" in read\n"
                    "  File \"train\" in load(std::thread const&)\n"
                    "  File \"/src/train.cpp\", line 30 in main\n"),
            "train in load(std::thread const&)");
  EXPECT_EQ(
      line_of("Thread sleep (most recent call first):\n  File \"libc.so.6\" in clock_nanosleep\n"),
      "libc.so.6 in clock_nanosleep");
  EXPECT_EQ(line_of(""), "");
  EXPECT_EQ(line_of("Thread (most recent call first):\n  <no Python frame>\n"), "");
  EXPECT_EQ(line_of("  File \"x\n  File \"y\", line 3"), "") << "cut";
}

}  // namespace
}  // namespace muster::doctor
