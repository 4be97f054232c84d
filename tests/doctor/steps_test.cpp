#include "server/doctor/steps.hpp"

#include <gtest/gtest.h>

namespace muster::doctor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr core::program_id program{7};
constexpr core::duration hour = std::chrono::hours(1);

struct world {
  step_table table;
  core::time_point now{hour * 1000};
  std::vector<rank_place> places = {
      {"h0", "worker"}, {"h0", "worker"}, {"h1", "worker"}, {"h1", "worker"}};
  std::uint32_t asked = 0;

  void say(std::vector<step_report> ranks, std::uint32_t attempt = 1, core::duration sent = {},
           core::program_id of = program) {
    table.reported(now, {of, attempt, sent, std::move(ranks)}, [this] { return ++asked, places; });
  }
};

step_report at(std::uint32_t rank, std::uint64_t step, core::duration when,
               std::vector<step_report::mark> marks = {}, std::uint32_t left_out = 0) {
  if (marks.empty()) marks = {{step, when}};
  return {rank, step, when, std::move(marks), left_out};
}

TEST(steps_of_ranks, are_the_last_reported_with_their_times) {
  world w;
  w.say({at(1, 5, seconds(9))}, 1, seconds(10));
  auto const p = w.table.progress(program, 1, 1);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->step, 5u);
  EXPECT_EQ(p->reached, w.now - seconds(1));
  EXPECT_FALSE(w.table.progress(program, 1, 0));
  EXPECT_FALSE(w.table.progress(program, 2, 1)) << "another attempt";
  EXPECT_FALSE(w.table.progress(program, 1, 9)) << "there is no such rank";
}

TEST(steps_of_ranks, are_timed_by_the_clock_of_their_host) {
  world w;
  w.say({at(0, 3, milliseconds(30),
            {{1, milliseconds(10)}, {2, milliseconds(20)}, {3, milliseconds(30)}})},
        1, milliseconds(40));
  EXPECT_EQ(w.table.find(program, 1, 0)->took, milliseconds(10));
  // Every second step is reported, so each took half of the interval.
  w.say({at(2, 6, milliseconds(80),
            {{2, milliseconds(0)}, {4, milliseconds(40)}, {6, milliseconds(80)}})},
        1, milliseconds(90));
  EXPECT_EQ(w.table.find(program, 1, 2)->took, milliseconds(20));
  auto const all = w.table.whole(program, 1, true);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->least, 3u);
  EXPECT_EQ(all->most, 6u);
  EXPECT_EQ(all->ranks, 2u);
}

TEST(steps_of_ranks, continue_across_reports_unless_some_were_omitted) {
  world w;
  w.say({at(0, 1, milliseconds(10))}, 1, milliseconds(10));
  EXPECT_EQ(w.table.find(program, 1, 0)->took, core::duration{});
  w.say({at(0, 2, milliseconds(17))}, 1, milliseconds(20));
  EXPECT_EQ(w.table.find(program, 1, 0)->took, milliseconds(7));
  w.say({at(0, 9, milliseconds(90), {}, 6)}, 1, milliseconds(90));
  EXPECT_EQ(w.table.find(program, 1, 0)->took, milliseconds(7)) << "missing steps are not guessed";
}

TEST(steps_of_ranks, restart_with_the_next_attempt_or_with_restarted_counts) {
  world w;
  w.say({at(0, 10, milliseconds(10))});
  w.say({at(0, 11, milliseconds(20))});
  w.say({at(0, 3, milliseconds(30))});
  EXPECT_EQ(w.table.find(program, 1, 0)->step, 3u);
  EXPECT_EQ(w.table.find(program, 1, 0)->took, core::duration{});
  w.say({at(0, 4, milliseconds(5))}, 2);
  EXPECT_EQ(w.asked, 2u) << "the ranks of an attempt are requested once";
  w.say({at(1, 99, milliseconds(7))}, 1);
  EXPECT_FALSE(w.table.whole(program, 1, true)) << "late reports of an earlier attempt are ignored";
  EXPECT_EQ(w.table.whole(program, 2, true)->most, 4u);
}

TEST(steps_of_ranks, of_unknown_ranks_are_ignored) {
  world w;
  w.say({at(4, 1, milliseconds(10)), at(~0u, 1, milliseconds(10))});
  EXPECT_FALSE(w.table.whole(program, 1, true));
}

// The ranks do not wait for each other. After a while, the slow rank's steps are older than all
// stored ones.
TEST(steps_of_ranks, show_a_rank_that_is_far_behind) {
  world w;
  for (std::uint64_t second = 1; second <= 10; ++second) {
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      std::uint64_t const each = rank == 2 ? 20 : 100;
      auto const marks = std::min<std::uint64_t>(each, step_report::marks_max);
      std::vector<step_report::mark> newest;
      for (auto step = second * each - marks + 1; step <= second * each; ++step)
        newest.push_back({step, milliseconds(static_cast<std::int64_t>(step * 1'000 / each))});
      auto const left_out = static_cast<std::uint32_t>(each - marks);
      w.say({at(rank, second * each, newest.back().at, newest, left_out)});
    }
    (void)w.table.whole(program, 1, true);  // its result is cached until the next report
  }
  auto const all = w.table.whole(program, 1, true);
  ASSERT_FALSE(all->slow_ones.empty());
  EXPECT_EQ(all->slow_ones[0].what.rank, 2u);
  EXPECT_TRUE(all->slow_ones[0].what.chronic);
  EXPECT_EQ(all->slow_ones[0].what.permille, 4'000u);
  EXPECT_EQ(w.table.find(program, 1, 2)->took, milliseconds(50));
}

TEST(steps_of_ranks, are_kept_of_the_newest_steps) {
  world w;
  for (std::uint64_t step = 1; step <= 3 * step_table::steps_kept; ++step)
    w.say({at(0, step, milliseconds(10 * step))});
  w.say({at(1, 1, milliseconds(10))});  // older than all stored steps
  EXPECT_EQ(w.table.find(program, 1, 1)->step, 1u);
  EXPECT_EQ(w.table.find(program, 1, 1)->took, core::duration{});
  EXPECT_EQ(w.table.find(program, 1, 0)->took, milliseconds(10));
}

TEST(steps_of_ranks, steps_of_the_longest_silent_program_are_removed) {
  world w;
  w.places.assign(step_table::ranks_max / 4, {"h0", "worker"});
  for (std::uint64_t i = 1; i <= 4; ++i, w.now += seconds(1))
    w.say({at(0, 1, milliseconds(10))}, 1, {}, core::program_id{i});
  EXPECT_EQ(w.table.ranks(), step_table::ranks_max);
  w.say({at(0, 2, milliseconds(20))}, 1, {}, core::program_id{1});
  w.say({at(0, 1, milliseconds(10))}, 1, {}, core::program_id{5});
  EXPECT_TRUE(w.table.whole(core::program_id{1}, 1, true));
  EXPECT_FALSE(w.table.whole(core::program_id{2}, 1, true));
  EXPECT_EQ(w.table.ranks(), step_table::ranks_max);
  w.table.forget(core::program_id{1});
  EXPECT_FALSE(w.table.whole(core::program_id{1}, 1, true));
}

// Rank `slow` is a tenth slower than the others.
void run(world& w, std::uint32_t slow, std::uint32_t attempt, core::program_id of = program) {
  for (std::uint64_t step = 1; step <= 100; ++step)
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      auto const each = rank == slow ? 110 : 100;
      auto const wobble = static_cast<std::int64_t>((step * 7 + rank * 3) % 5);
      w.say({at(rank, step, milliseconds(each * static_cast<std::int64_t>(step) + wobble))},
            attempt, {}, of);
    }
}

TEST(steps_of_ranks, show_a_host_that_was_slow_in_earlier_attempts) {
  world w;
  for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
    run(w, 2, attempt);
    auto const all = w.table.whole(program, attempt, true);
    ASSERT_EQ(all->slow_ones.size(), 1u);
    auto const& slow = all->slow_ones[0];
    EXPECT_EQ(slow.what.rank, 2u);
    EXPECT_TRUE(slow.what.chronic);
    EXPECT_EQ(slow.host, "h1");
    EXPECT_EQ(slow.attempts, attempt);
    EXPECT_EQ(slow.runs, 1u);
    EXPECT_NEAR(slow.what.permille, 100, 10);
  }
}

TEST(steps_of_ranks, show_a_host_that_was_slow_in_other_and_removed_programs) {
  world w;
  run(w, 2, 1, core::program_id{1});
  run(w, 0, 1, core::program_id{2});  // on the other host
  run(w, 3, 1, core::program_id{3});
  run(w, 3, 2, core::program_id{3});
  w.table.forget(core::program_id{1});
  w.table.forget(core::program_id{1});
  run(w, 2, 1);
  auto const slow = w.table.whole(program, 1, true)->slow_ones;
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].attempts, 1u);
  EXPECT_EQ(slow[0].runs, 3u) << "a removed program, one with two attempts, and this one";
}

TEST(steps_of_ranks, number_of_remembered_hosts_is_limited) {
  world w;
  for (std::size_t n = 0; n <= step_table::hosts_of_runs_kept; ++n) {
    for (auto& p : w.places) p.host = "h" + std::to_string(n);
    run(w, 2, 1, core::program_id{n + 1});
    w.table.forget(core::program_id{n + 1});
  }
  auto const runs = [&](std::string const& host) {
    for (auto& p : w.places) p.host = host;
    run(w, 2, 1);
    auto const found = w.table.whole(program, 1, true)->slow_ones.at(0).runs;
    w.table.forget(program);
    return found;
  };
  EXPECT_EQ(runs("h0"), 2u);
  EXPECT_EQ(runs("h" + std::to_string(step_table::hosts_of_runs_kept)), 1u) << "no room";
}

// After a broken connection, a worker repeats the newest steps of its ranks.
TEST(steps_of_ranks, repeated_reports_are_counted_once) {
  world w;
  auto const ms = [](int n) { return milliseconds(n); };
  w.say({at(0, 3, ms(30), {{1, ms(10)}, {2, ms(20)}, {3, ms(30)}})}, 1, ms(40));
  std::vector<step_span> told;
  told = w.table.reported(w.now,
                          {program, 1, ms(60), {at(0, 3, ms(30), {{2, ms(20)}, {3, ms(30)}}, 1)}},
                          [] { return std::vector<rank_place>(); });
  EXPECT_TRUE(told.empty());
  told = w.table.reported(
      w.now, {program, 1, ms(60), {at(0, 4, ms(45), {{2, ms(20)}, {3, ms(30)}, {4, ms(45)}}, 1)}},
      [] { return std::vector<rank_place>(); });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].step, 4u);
  EXPECT_EQ(told[0].took, ms(15));
}

}  // namespace
}  // namespace muster::doctor
