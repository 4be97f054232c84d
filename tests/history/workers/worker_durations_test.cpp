#include "server/history/workers/worker_durations.hpp"

#include <gtest/gtest.h>

#include "tests/core/fixture.hpp"

namespace muster::core {
namespace worker_durations_cases {

using history::compare_workers;
using history::duration_sum;
using history::minute_ratios;
using history::slow_since;

duration_sum sum(std::uint32_t worker, std::uint32_t function, std::uint64_t count, duration each) {
  return {worker, function, count, static_cast<std::int64_t>(count) * each};
}

double ratio_of(std::vector<duration_sum> sums, std::uint32_t worker) {
  for (auto const& r : compare_workers(std::move(sums), 3))
    if (r.worker == worker) return r.ratio;
  return 0;
}

TEST(slowness, is_the_ratio_to_the_median_of_the_workers) {
  std::vector<duration_sum> const sums{sum(1, 7, 10, 100ms), sum(2, 7, 10, 210ms),
                                       sum(3, 7, 10, 90ms)};
  EXPECT_DOUBLE_EQ(ratio_of(sums, 2), 2.1);
  EXPECT_DOUBLE_EQ(ratio_of(sums, 1), 1);
  EXPECT_DOUBLE_EQ(ratio_of(sums, 3), 0.9);
}

TEST(slowness, of_two_workers_is_relative_to_the_faster) {
  std::vector<duration_sum> const sums{sum(1, 7, 3, 100ms), sum(2, 7, 3, 300ms)};
  EXPECT_DOUBLE_EQ(ratio_of(sums, 2), 3);
  EXPECT_DOUBLE_EQ(ratio_of(sums, 1), 1);
}

TEST(slowness, does_not_count_longer_functions) {
  std::vector<duration_sum> const sums{sum(1, 7, 10, 10ms), sum(2, 7, 10, 10ms),
                                       sum(3, 7, 10, 10ms), sum(2, 8, 50, 9s),
                                       sum(3, 8, 3, 9s),    sum(3, 9, 100, 60s)};
  EXPECT_DOUBLE_EQ(ratio_of(sums, 2), 1);
  EXPECT_DOUBLE_EQ(ratio_of(sums, 3), 1) << "function 9 has no other worker";
}

TEST(slowness, is_the_median_over_the_functions) {
  std::vector<duration_sum> sums;
  for (std::uint32_t f = 0; f < 3; ++f)
    for (std::uint32_t w = 0; w < 3; ++w)
      sums.push_back(sum(w, f, 5, w == 2 ? (f + 1) * 100ms : 100ms));
  EXPECT_DOUBLE_EQ(ratio_of(sums, 2), 2) << "1, 2 and 3";
}

TEST(slowness, needs_enough_executions_that_are_long_enough) {
  EXPECT_EQ(compare_workers({sum(1, 7, 3, 10ms), sum(2, 7, 2, 90ms)}, 3).size(), 0u);
  EXPECT_EQ(compare_workers({sum(1, 7, 3, 10ms), sum(2, 7, 2, 90ms), sum(2, 7, 1, 90ms)}, 3).size(),
            2u)
      << "sums of the same worker are added";
  EXPECT_EQ(compare_workers({sum(1, 7, 3, 100us), sum(2, 7, 3, 900us)}, 3).size(), 0u);
  EXPECT_EQ(compare_workers({}, 3).size(), 0u);
}

TEST(slowness, began_with_the_first_slow_minute_of_the_current_period) {
  EXPECT_FALSE(slow_since({}));
  std::vector<minute_ratios> const long_ago{{2, 2}, {1, 1}, {1, 1}};
  EXPECT_FALSE(slow_since(long_ago));
  std::vector<minute_ratios> const since_third{{2, 2}, {1, 1}, {2, 1.2f}, {2, 1.6f}, {2, 2}};
  EXPECT_EQ(slow_since(since_third), 2u) << "the window follows later";
  std::vector<minute_ratios> const gaps{{1, 1}, {2, 1.6f}, {0, 0}, {0, 1.6f}, {0, 0}, {0, 2}};
  EXPECT_EQ(slow_since(gaps), 1u) << "minutes without executions do not interrupt";
  std::vector<minute_ratios> const noise{{1, 1}, {2, 1.6f}, {1.2f, 1.6f}, {2, 1.8f}};
  EXPECT_EQ(slow_since(noise), 1u);
  std::vector<minute_ratios> const recovered{{2, 2}, {2, 2}, {1, 1.4f}};
  EXPECT_FALSE(slow_since(recovered));
}

struct durations_of_workers : testing::Test {
  static constexpr auto begin = time_point(std::chrono::hours(480'000));

  void SetUp() override {
    changes c;
    for (std::uint32_t f = 0; f < 2; ++f)
      c.functions.push_back(
          {function_id{f}, true, false, function_id{f}, "f" + std::to_string(f), {}});
    for (std::uint32_t w = 1; w <= 3; ++w)
      c.workers.push_back({worker_number{w}, true, "worker", w, 1});
    named.fold(c, begin);
    fold(c);
  }
  void fold(changes const& c) { durations.fold(c, named, now); }
  void run(std::uint32_t worker, duration took, attempt_end how = attempt_end::succeeded,
           std::uint32_t function = 0) {
    attempt_ended a;
    a.worker = worker_number{worker};
    a.function = function_id{function};
    a.started = now - took;
    a.ended = now;
    a.how = how;
    changes c;
    c.attempts = {a};
    fold(c);
  }
  void minute_of(duration third) {
    for (int i = 0; i < 4; ++i) run(1, 100ms), run(2, 100ms), run(3, third);
    now += 1min;
  }
  history::slowness_view look(std::int64_t worker) { return durations.of({"worker", worker}, now); }

  config settings;
  history::names named{settings, [](auto const&) {}};
  history::worker_durations durations;
  time_point now = begin;
};

TEST_F(durations_of_workers, name_the_slow_worker_and_the_minute_in_which_it_became_slow) {
  for (int i = 0; i < 20; ++i) minute_of(100ms);
  EXPECT_EQ(look(3).since, never);
  EXPECT_NEAR(look(3).ratio, 1, 0.01);
  for (int i = 0; i < 15; ++i) minute_of(210ms);
  EXPECT_NEAR(look(3).ratio, 2.1, 0.01);
  EXPECT_EQ(look(3).since, begin + 20min);
  EXPECT_EQ(look(1).since, never);
  EXPECT_NEAR(look(1).ratio, 1, 0.01);
  auto const course = durations.course({"worker", 3}, now);
  ASSERT_EQ(course.size(), 35u);
  EXPECT_EQ(course[19].minute, begin + 19min);
  EXPECT_NEAR(course[19].ratio, 1, 0.01);
  EXPECT_NEAR(course[20].ratio, 2.1, 0.01);
  for (int i = 0; i < 10; ++i) minute_of(100ms);
  EXPECT_EQ(look(3).since, never) << "it has recovered";
}

TEST_F(durations_of_workers, are_found_in_the_first_minute) {
  for (int i = 0; i < 3; ++i) run(1, 100ms), run(2, 100ms), run(3, 400ms);
  EXPECT_NEAR(look(3).ratio, 4, 0.01);
  EXPECT_EQ(look(3).since, begin);
}

TEST_F(durations_of_workers, ignore_failures_and_unknown_workers) {
  for (int i = 0; i < 5; ++i) {
    run(1, 100ms), run(2, 100ms), run(3, 9s, attempt_end::failed), run(40, 9s);
    run(3, 9s, attempt_end::worker_lost);
  }
  EXPECT_EQ(look(3).ratio, 0);
  EXPECT_EQ(look(7).ratio, 0);
  EXPECT_EQ(durations.course({"worker", 7}, now).size(), 0u);
}

TEST_F(durations_of_workers, remain_unknown_while_nothing_ends) {
  minute_of(900ms);
  now += std::chrono::minutes(history::worker_durations::window_minutes);
  EXPECT_EQ(look(3).ratio, 0);
  EXPECT_EQ(look(3).since, never);
  minute_of(900ms);
  now -= 58s;
  EXPECT_EQ(look(3).since, begin) << "it was never faster";
  now += 2h - 2s;
  EXPECT_EQ(durations.course({"worker", 3}, now).size(), 0u);
  auto const later = now;
  minute_of(900ms);
  now -= 58s;
  EXPECT_EQ(look(3).since, later) << "the earlier hour is forgotten";
}

TEST_F(durations_of_workers, are_restored_from_spans) {
  history::worker_durations restored;
  for (int m = 0; m < 5; ++m)
    for (std::int64_t w = 1; w <= 3; ++w)
      for (int i = 0; i < 3; ++i) {
        span_view s;
        s.started = begin + m * 1min;
        s.lasted = s.busy = w == 3 ? 2s : 1s;
        restored.restore({"worker", w}, s);
        s.busy = 90s, s.failed = 1, s.state = span_state::failed;
        restored.restore({"worker", w}, s);
      }
  auto const v = restored.of({"worker", 3}, begin + 5min);
  EXPECT_NEAR(v.ratio, 2, 0.01);
  EXPECT_EQ(v.since, begin);
}

TEST_F(durations_of_workers, pairs_of_a_minute_are_limited) {
  auto const most = static_cast<std::uint32_t>(history::worker_durations::pairs_max);
  changes c;
  for (std::uint32_t w = 10; w < most + 20; ++w)
    c.workers.push_back({worker_number{w}, true, "many", w, 1});
  fold(c);
  for (std::uint32_t w = 10; w < most + 20; ++w)
    for (int i = 0; i < 3; ++i) run(w, 100ms);
  EXPECT_NE(durations.of({"many", 10}, now).ratio, 0);
  EXPECT_EQ(durations.of({"many", most + 19}, now).ratio, 0);
  std::size_t functions = 0;
  durations.for_each_function([&](function_id) { ++functions; });
  EXPECT_EQ(functions, most);
}

TEST_F(durations_of_workers, workers_are_limited_and_idle_workers_make_room) {
  auto const most = history::worker_durations::workers_max;
  changes c;
  for (std::uint32_t w = 10; w < most + 20; ++w)
    c.workers.push_back({worker_number{w}, true, "many", w, 1});
  fold(c);
  EXPECT_EQ(durations.workers(), most);
  auto const last = static_cast<std::uint32_t>(most + 19);
  for (int i = 0; i < 3; ++i) run(1, 100ms), run(last, 500ms);
  EXPECT_EQ(durations.of({"many", last}, now).ratio, 0) << "there was no room";
  now += 61min;
  run(1, 100ms);
  c.workers = {{worker_number{last}, true, "many", last, 1}};
  fold(c);
  for (int i = 0; i < 3; ++i) run(1, 100ms), run(last, 500ms);
  EXPECT_NEAR(durations.of({"many", last}, now).ratio, 5, 0.01);
  EXPECT_EQ(durations.workers(), most);
}

}  // namespace worker_durations_cases
}  // namespace muster::core
