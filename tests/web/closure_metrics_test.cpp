#include "web/metrics/closure_metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

using namespace std::chrono_literals;

std::string text_of(measured_closures const& c) {
  metric_text m;
  write_closure_metrics(m, c);
  return m.take();
}

TEST(closure_metrics, a_histogram_is_cumulative_with_sum_and_count) {
  measured_closures c;
  c.metrics.execution.add(50us);
  c.metrics.execution.add(1ms);
  c.metrics.execution.add(1ms);
  c.metrics.execution.add(100h);
  auto const text = text_of(c);
  std::string const name = "muster_closure_execution_seconds";
  auto const begin = text.find("# TYPE " + name);
  auto const end = text.find("# HELP", begin);
  auto const lines = text.substr(begin, end - begin);
  EXPECT_TRUE(lines.starts_with("# TYPE " + name + " histogram\n" + name +
                                "_bucket{le=\"6.4e-05\"} 1\n" + name +
                                "_bucket{le=\"0.000128\"} 1\n"))
      << lines;
  EXPECT_CONTAINS(lines, "_bucket{le=\"0.000512\"} 1\n" + name + "_bucket{le=\"0.001024\"} 3\n");
  EXPECT_TRUE(lines.ends_with(name + "_bucket{le=\"68719.476736\"} 3\n" + name +
                              "_bucket{le=\"+Inf\"} 4\n" + name + "_sum 360000.00205\n" + name +
                              "_count 4\n"))
      << lines;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1 + 31 + 3) << "one bucket per octave";
}

TEST(closure_metrics, counters_and_the_time_with_a_full_queue_are_written) {
  measured_closures c;
  c.metrics.worker_failures = 3;
  c.metrics.stop_requests = 4;
  c.metrics.full = 2s;
  c.logs = {10, 5, 1, 2'000, 2};
  EXPECT_CONTAINS(text_of(c), "muster_worker_failures_total 3\n");
  EXPECT_CONTAINS(text_of(c), "muster_closure_stop_requests_total 4\n");
  EXPECT_CONTAINS(text_of(c), "muster_queue_full_seconds_total 2\n");
  EXPECT_CONTAINS(text_of(c), "muster_log_lines_total 10\n");
  EXPECT_CONTAINS(text_of(c), "muster_log_lines_dropped_total 5\n");
  EXPECT_CONTAINS(text_of(c), "muster_log_strays_total 1\n");
  EXPECT_CONTAINS(text_of(c), "muster_log_bytes 2000\n");
  c.now = core::time_point(100s);
  c.metrics.full_since = core::time_point(90s);
  EXPECT_CONTAINS(text_of(c), "muster_queue_full_seconds_total 12\n");
}

TEST(program_metrics, programs_are_counted_by_state_with_their_ranks) {
  core::program_counts c;
  c.by_state[static_cast<std::size_t>(core::program_state::running)] = 2;
  c.by_state[static_cast<std::size_t>(core::program_state::failed)] = 1;
  c.ranks_alive = 16;
  history::program_totals ever;
  ever.finished[static_cast<std::size_t>(core::program_state::failed)] = 1'007;
  ever.attempts[static_cast<std::size_t>(core::program_end::lost)] = 5;
  ever.restarts = 9;
  metric_text m;
  write_program_metrics(m, c, ever);
  auto const text = m.take();
  EXPECT_CONTAINS(text, "muster_programs{state=\"running\"} 2\n");
  EXPECT_CONTAINS(text, "muster_programs{state=\"failed\"} 1\n");
  EXPECT_CONTAINS(text, "muster_programs{state=\"pending\"} 0\n");
  EXPECT_CONTAINS(text, "muster_program_ranks 16\n");
  EXPECT_CONTAINS(text, "muster_programs_finished_total{state=\"failed\"} 1007\n");
  EXPECT_CONTAINS(text, "muster_programs_finished_total{state=\"succeeded\"} 0\n");
  EXPECT_CONTAINS(text, "muster_program_attempts_total{end=\"lost\"} 5\n");
  EXPECT_CONTAINS(text, "muster_program_restarts_total 9\n");
}

TEST(program_metrics, steps_are_written_for_programs_that_report_them) {
  metric_text m;
  write_step_metrics(m, {{"prog_1", "train", 40, 250ms}, {"prog_2", "", 0, {}}});
  auto const text = m.take();
  EXPECT_CONTAINS(text, "muster_program_step{program=\"prog_1\",name=\"train\"} 40\n");
  EXPECT_CONTAINS(text, "muster_program_step_seconds{program=\"prog_1\",name=\"train\"} 0.25\n");
  EXPECT_CONTAINS(text, "muster_program_step{program=\"prog_2\",name=\"\"} 0\n");
  EXPECT_EQ(text.find("muster_program_step_seconds{program=\"prog_2\""), std::string::npos)
      << "one step alone has taken no time that is known";
}

TEST(object_metrics, objects_are_counted_by_state_and_calls_by_outcome) {
  metric_text m;
  write_object_metrics(m, {{1, 0, 7, 0, 2}, {40, 3, 0, 5}});
  auto const text = m.take();
  EXPECT_CONTAINS(text, "muster_objects{state=\"pending\"} 1\n");
  EXPECT_CONTAINS(text, "muster_objects{state=\"ready\"} 7\n");
  EXPECT_CONTAINS(text, "muster_objects{state=\"lost\"} 2\n");
  EXPECT_CONTAINS(text, "muster_object_calls_total{outcome=\"ok\"} 40\n");
  EXPECT_CONTAINS(text, "muster_object_calls_total{outcome=\"cancelled\"} 0\n");
  EXPECT_CONTAINS(text, "muster_object_calls_total{outcome=\"lost\"} 5\n");
}

TEST(dataset_metrics, splits_are_counted_by_state_and_outcome) {
  metric_text m;
  write_dataset_metrics(m, {2, 10, 3, 4, 1, 90, 5});
  auto const text = m.take();
  EXPECT_CONTAINS(text, "muster_datasets 2\n");
  EXPECT_CONTAINS(text, "muster_dataset_splits{state=\"queued\"} 10\n");
  EXPECT_CONTAINS(text, "muster_dataset_splits{state=\"drawn\"} 3\n");
  EXPECT_CONTAINS(text, "muster_dataset_splits{state=\"done\"} 4\n");
  EXPECT_CONTAINS(text, "muster_dataset_draws_waiting 1\n");
  EXPECT_CONTAINS(text, "muster_dataset_splits_total{outcome=\"done\"} 90\n");
  EXPECT_CONTAINS(text, "muster_dataset_splits_total{outcome=\"given_back\"} 5\n");
}

TEST(closure_metrics, functions_beyond_the_limit_share_one_line) {
  engine e;
  auto const c = e.run([](engine_services& s) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < functions_measured + 7; ++i)
      names.push_back("f" + std::to_string(i));
    s.pools.main().learn(std::move(names));
    return measure_closures(s.pools);
  });
  ASSERT_EQ(c.functions.size(), functions_measured + 1);
  EXPECT_EQ(c.functions.back().name, "other");
  auto const text = text_of(c);
  EXPECT_CONTAINS(text, "muster_function_closures{function=\"f199\",state=\"queued\"} 0\n");
  EXPECT_FALSE(contains(text, "function=\"f200\""));
}

TEST(closure_metrics, tasks_beyond_the_limit_have_no_lines) {
  engine e;
  std::vector<std::unique_ptr<worker>> workers;
  for (std::size_t i = 0; i < tasks_measured + 7; ++i)
    workers.push_back(std::make_unique<worker>(e, worker::habit::hold));
  auto const c = e.run([](engine_services& s) { return measure_closures(s.pools); });
  auto const text = text_of(c);
  EXPECT_CONTAINS(text, "muster_task_running{task=\"worker:0\"} 0\n");
  EXPECT_CONTAINS(text, "muster_task_finished_total{task=\"worker:99\"} 0\n");
  EXPECT_FALSE(contains(text, "worker:100\""));
  EXPECT_CONTAINS(text, "muster_tasks_unmeasured 7\n");
}

}  // namespace
}  // namespace muster::web::test
