// The families of /metrics on closures' times, on single tasks and on logs.
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

/// Tasks beyond this many, in order of job and index, have no lines of their own, or a scrape would
/// grow without limit; muster_tasks_unmeasured says how many they are.
inline constexpr std::size_t tasks_measured = 100;

/// Clusters beyond this many have no lines of their own; the sums are of all.
inline constexpr std::size_t pools_measured = 100;

/// Names of functions, or of what they call, beyond this many are counted together as "other".
inline constexpr std::size_t functions_measured = 200;

/// Programs that say steps, beyond this many, have no lines of their own: those of which nothing
/// was said for longest.
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
  std::vector<std::optional<machine>> machines;  // of each of them
  std::size_t tasks_more = 0;
  std::vector<core::shown_function_view> functions;  // at most functions_measured, and "other"
  server::log_store::counts logs;
  core::program_counts programs;  // of all clusters, as what follows
  core::objects::object_counts objects;
  core::datasets::dataset_totals datasets;
  history::program_totals program_totals;  // since the start
  std::vector<measured_steps> steps;  // of programs that run, stepping_programs_measured at most
};

/// Engine thread.
measured_closures measure_closures(server::pools& all);
void write_closure_metrics(metric_text& m, measured_closures const& c);
/// The families on programs.
void write_program_metrics(metric_text& m, core::program_counts const& now,
                           history::program_totals const& ever);
void write_step_metrics(metric_text& m, std::vector<measured_steps> const& programs);
/// The families on objects and their calls.
void write_object_metrics(metric_text& m, core::objects::object_counts const& c);
/// The families on datasets that are dealt out.
void write_dataset_metrics(metric_text& m, core::datasets::dataset_totals const& t);

}  // namespace muster::web
