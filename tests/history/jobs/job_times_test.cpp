#include "server/history/jobs/job_times.hpp"

#include <gtest/gtest.h>

#include "tests/core/fixture.hpp"

namespace muster::core {
namespace job_times_cases {

constexpr session_id one{1}, two{2};

struct times_of_jobs : testing::Test {
  void SetUp() override {
    changes c;
    c.functions = {{function_id{0}, true, false, function_id{0}, "train", {}},
                   {function_id{1}, true, false, function_id{1}, "load", {}}};
    c.workers = {{worker_number{1}, true, "worker", 0, 1},
                 {worker_number{3}, true, "worker", 7, 1}};
    fold(c);
  }
  void fold(changes const& c) {
    named.fold(c, start);
    times.fold(c, named);
  }
  static closure_ended ended(session_id s, std::uint32_t function, std::uint32_t worker,
                             duration took, closure_state as = closure_state::succeeded) {
    closure_ended e;
    e.of.session = s;
    e.of.function = function_id{function};
    e.of.started = start;
    e.of.finished = start + took;
    e.of.as = as;
    e.of.attempt = 1;
    e.worker = worker_number{worker};
    return e;
  }
  static attempt_ended attempt(session_id s, duration took, attempt_end how) {
    attempt_ended a;
    a.session = s;
    a.started = start;
    a.ended = start + took;
    a.worker = worker_number{3};
    a.how = how;
    return a;
  }
  history::job_times_view look(session_id s = one) const { return *times.find(s, named); }

  config settings;
  history::names named{settings, [](auto const&) {}};
  history::job_times times;
};

TEST_F(times_of_jobs, are_added_up_whole_and_by_function_and_worker) {
  changes c;
  for (int i = 0; i < 98; ++i) c.ended.push_back(ended(one, 0, 3, 10ms));
  c.ended.push_back(ended(one, 1, 3, 5s, closure_state::failed));
  c.ended.push_back(ended(one, 1, 1, 2ms, closure_state::failed));
  c.ended.push_back(ended(two, 1, 3, 1ms));
  fold(c);
  auto const v = look();
  EXPECT_EQ(v.all.ran(), 100u);
  EXPECT_EQ(v.all.failed(), 2u);
  EXPECT_EQ(v.all.longest(), 5s);
  EXPECT_EQ(v.all.percentile(0.5), 10ms);
  EXPECT_EQ(v.all.percentile(1), 5s);
  ASSERT_EQ(v.all.cells().size(), 3u);
  ASSERT_EQ(v.functions.size(), 2u);
  EXPECT_EQ(v.functions[0].name, "load") << "the busiest first";
  EXPECT_EQ(v.functions[0].times.failed(), 2u);
  EXPECT_EQ(v.functions[1].times.ran(), 98u);
  ASSERT_EQ(v.workers.size(), 2u);
  EXPECT_EQ(v.workers[0].name, "worker:7");
  EXPECT_EQ(v.workers[0].times.failed(), 1u);
  EXPECT_EQ(v.workers[1].name, "worker:0");
}

TEST_F(times_of_jobs, have_exact_percentiles_of_two_durations) {
  changes c;
  c.ended = {ended(one, 0, 3, 30'100ms), ended(one, 0, 3, 616s)};
  fold(c);
  auto const v = look();
  EXPECT_EQ(v.all.percentile(0.5), 30'100ms);
  EXPECT_EQ(v.all.percentile(0.9), 616s);
}

TEST_F(times_of_jobs, interpolate_percentiles_between_the_durations_of_a_bucket) {
  changes c;
  for (int i = 0; i <= 100; ++i) c.ended.push_back(ended(one, 0, 3, 1'800us + i * 1us));
  fold(c);
  auto const v = look();
  ASSERT_EQ(v.all.cells().size(), 1u);
  EXPECT_EQ(v.all.percentile(0), 1'800us);
  EXPECT_EQ(v.all.percentile(0.25), 1'825us);
  EXPECT_EQ(v.all.percentile(0.5), 1'850us);
  EXPECT_EQ(v.all.percentile(1), 1'900us);
}

TEST_F(times_of_jobs, distinguish_durations_a_few_microseconds_apart) {
  changes c;
  for (int i = 0; i < 1'000; ++i) c.ended.push_back(ended(one, 0, 3, 0us));
  c.ended.push_back(ended(one, 0, 3, 35us));
  fold(c);
  auto const v = look();
  EXPECT_EQ(v.all.percentile(0.5), 0us);
  EXPECT_EQ(v.all.percentile(0.99), 0us);
  EXPECT_EQ(v.all.percentile(1), 35us);
  ASSERT_EQ(v.all.cells().size(), 2u);
}

TEST_F(times_of_jobs, are_of_executions_that_were_answered) {
  changes c;
  for (auto const how : {attempt_end::succeeded, attempt_end::user_error, attempt_end::worker_lost,
                         attempt_end::retracted, attempt_end::value_lost, attempt_end::cancelled})
    c.attempts.push_back(attempt(one, 1ms, how));
  c.attempts.push_back(attempt({}, 1ms, attempt_end::succeeded));  // created by the core itself
  auto unknown = ended(one, 0, 0, 1ms);
  unknown.worker = worker_number{};  // already counted by its attempt
  c.ended.push_back(unknown);
  unknown.restored = true;
  c.ended.push_back(unknown);
  fold(c);
  auto const v = look();
  EXPECT_EQ(v.all.ran(), 4u);
  EXPECT_EQ(v.all.failed(), 1u);
  ASSERT_EQ(v.workers.size(), 2u);
  EXPECT_EQ(v.workers[1].name, "") << "of an earlier process";
}

TEST_F(times_of_jobs, are_removed_with_their_job) {
  changes c;
  c.ended.push_back(ended(one, 0, 3, 1ms));
  fold(c);
  EXPECT_GT(times.bytes(), 0u);
  changes gone;
  gone.sessions_released.push_back({one, release_reason::jobs, 0});
  fold(gone);
  EXPECT_FALSE(times.find(one, named));
  EXPECT_EQ(times.bytes(), 0u);
}

TEST_F(times_of_jobs, rows_are_limited_and_the_rest_is_combined) {
  changes c;
  for (std::uint32_t i = 0; i < history::job_times::functions_max + 5; ++i) {
    auto const id = function_id{i + 10};
    c.functions.push_back({id, true, false, id, "f" + std::to_string(i), {}});
    c.ended.push_back(ended(one, i + 10, 3, 1ms));
  }
  fold(c);
  auto const v = look();
  EXPECT_EQ(v.functions.size(), history::job_times::functions_max + 1);
  auto const others = std::find_if(v.functions.begin(), v.functions.end(),
                                   [](auto const& r) { return r.name.empty(); });
  ASSERT_NE(others, v.functions.end());
  EXPECT_EQ(others->times.ran(), 5u);
  std::size_t used = 0;
  times.for_each_function([&used](function_id) { ++used; });
  EXPECT_EQ(used, history::job_times::functions_max);
}

TEST_F(times_of_jobs, lose_the_tables_of_the_oldest_beyond_their_limit) {
  changes workers;
  for (std::uint32_t w = 1; w <= history::job_times::workers_max; ++w)
    workers.workers.push_back({worker_number{w}, true, "worker", w, 1});
  fold(workers);
  std::uint64_t job = 0;
  while (times.find(one, named).value_or(history::job_times_view{}).detailed && job < 10'000) {
    changes c;
    ++job;
    for (std::uint32_t w = 1; w <= history::job_times::workers_max; ++w)
      c.ended.push_back(ended(session_id{job}, 0, w, 1ms));
    fold(c);
    ASSERT_LE(times.bytes(), history::job_times::bytes_max);
  }
  EXPECT_GT(times.bytes(), history::job_times::bytes_max / 2);
  EXPECT_EQ(look().all.ran(), history::job_times::workers_max) << "its sums stay";
  EXPECT_TRUE(look().workers.empty());
  EXPECT_TRUE(look(session_id{job}).detailed);
  changes c;
  c.ended.push_back(ended(one, 0, 3, 1ms));
  fold(c);
  EXPECT_EQ(look().all.ran(), history::job_times::workers_max + 1);
  EXPECT_TRUE(look().workers.empty()) << "a table that started late would be incomplete";
}

}  // namespace job_times_cases
}  // namespace muster::core
