// Metrics of closures, tasks, logs, programs, objects and datasets.
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

/// Maximum number of tasks with their own samples, in order of job and index.
/// muster_tasks_unmeasured counts the remaining tasks.
inline constexpr std::size_t tasks_measured = 100;

/// Maximum number of clusters with their own samples. Sums include all clusters.
inline constexpr std::size_t pools_measured = 100;

/// Maximum number of functions with their own counts. The remaining functions are counted as
/// "other".
inline constexpr std::size_t functions_measured = 200;

/// Maximum number of programs with their own step metrics. At the limit, programs that have not
/// reported for longest are omitted.
inline constexpr std::size_t stepping_programs_measured = 100;

struct measured_steps {
  std::string program, name;  // `program` is the ID
  std::uint64_t least = 0;    // lowest step of all ranks
  core::duration took{};
};

struct measured_pool {
  std::string cluster;
  core::overview_view now;
};

struct measured_closures {
  std::vector<measured_pool> pools;
  history::closure_metrics metrics;
  core::time_point now{};
  std::vector<core::task_view> tasks;
  std::vector<std::optional<machine>> machines;  // parallel to `tasks`
  std::size_t tasks_more = 0;
  std::vector<core::shown_function_view> functions;
  server::log_store::counts logs;
  core::program_counts programs;  // this member and the following members cover all clusters
  core::objects::object_counts objects;
  core::datasets::dataset_totals datasets;
  history::program_totals program_totals;  // totals since the server started
  std::vector<measured_steps> steps;
};

measured_closures measure_closures(server::pools& all);
void write_closure_metrics(metric_text& m, measured_closures const& c);
void write_program_metrics(metric_text& m, core::program_counts const& now,
                           history::program_totals const& ever);
void write_step_metrics(metric_text& m, std::vector<measured_steps> const& programs);
void write_object_metrics(metric_text& m, core::objects::object_counts const& c);
void write_dataset_metrics(metric_text& m, core::datasets::dataset_totals const& t);

}  // namespace muster::web
