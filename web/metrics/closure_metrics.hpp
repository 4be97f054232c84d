// Metric families for closures, tasks, logs, programs, objects and datasets.
#pragma once

#include <optional>
#include <vector>

#include "base/machine.hpp"
#include "server/core/api/program_views.hpp"
#include "server/history/metrics/closure_meter.hpp"
#include "server/history/metrics/program_meter.hpp"
#include "server/hub/pools.hpp"
#include "web/metrics/counters.hpp"
#include "web/metrics/metric_text.hpp"

namespace muster::web {

/// Tasks that have lines of their own, in order of job and index, so that the size of a scrape is
/// bounded. muster_tasks_unmeasured counts the others.
inline constexpr std::size_t tasks_measured = 100;

/// Clusters that have lines of their own; sums include all clusters.
inline constexpr std::size_t pools_measured = 100;

/// Function names counted separately; the others are counted together as "other".
inline constexpr std::size_t functions_measured = 200;

/// Programs with step metrics that have lines of their own. At the limit, those without a report
/// for the longest time are omitted.
inline constexpr std::size_t stepping_programs_measured = 100;

struct measured_steps {
  std::string program, name;  // id
  std::uint64_t least = 0;    // of its ranks
  core::duration took{};
};

struct measured_pool {
  std::string cluster;
  core::overview_view now;
};

struct measured_closures {
  std::vector<measured_pool> pools;  // at most pools_measured
  history::closure_metrics metrics;
  core::time_point now{};
  std::vector<core::task_view> tasks;            // at most tasks_measured
  std::vector<std::optional<machine>> machines;  // parallel to `tasks`
  std::size_t tasks_more = 0;
  std::vector<core::shown_function_view> functions;  // at most functions_measured, and "other"
  server::log_store::counts logs;
  core::program_counts programs;  // of all clusters, as are the members below
  core::objects::object_counts objects;
  core::datasets::dataset_totals datasets;
  history::program_totals program_totals;  // since the start
  std::vector<measured_steps> steps;  // of running programs, at most stepping_programs_measured
};

/// Copies the measurements. Engine thread.
measured_closures measure_closures(server::pools& all);
void write_closure_metrics(metric_text& m, measured_closures const& c);
void write_program_metrics(metric_text& m, core::program_counts const& now,
                           history::program_totals const& ever);
void write_step_metrics(metric_text& m, std::vector<measured_steps> const& programs);
void write_object_metrics(metric_text& m, core::objects::object_counts const& c);
void write_dataset_metrics(metric_text& m, core::datasets::dataset_totals const& t);

}  // namespace muster::web
