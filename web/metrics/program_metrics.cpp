#include "base/text.hpp"
#include "web/metrics/closure_metrics.hpp"

namespace muster::web {

void write_program_metrics(metric_text& m, core::program_counts const& now,
                           history::program_totals const& ever) {
  m.family("muster_programs", "gauge", "Programs by state.");
  for (std::size_t i = 0; i < enum_size<core::program_state>; ++i)
    m.sample("state", lower(core::name(core::program_state(i))), now.by_state[i]);
  m.gauge("muster_program_ranks", "Program ranks that are not known to have ended.",
          now.ranks_alive);
  m.family("muster_programs_finished_total", "counter", "Programs that ended, by result.");
  for (std::size_t i = 0; i < enum_size<core::program_state>; ++i)
    if (core::ended(core::program_state(i)))
      m.sample("state", lower(core::name(core::program_state(i))), ever.finished[i]);
  m.family("muster_program_attempts_total", "counter", "Program attempts that ended, by result.");
  for (std::size_t i = 1; i < enum_size<core::program_end>; ++i)
    m.sample("end", lower(core::name(core::program_end(i))), ever.attempts[i]);
  m.counter("muster_program_restarts_total",
            "Program restarts, that is, attempts after the first attempt.", ever.restarts);
}

void write_step_metrics(metric_text& m, std::vector<measured_steps> const& programs) {
  m.family("muster_program_step", "gauge", "The step that all ranks of a program have reached.");
  for (auto const& p : programs) m.sample({"program", p.program}, {"name", p.name}, p.least);
  m.family("muster_program_step_seconds", "gauge", "Median duration of a step over all ranks.");
  for (auto const& p : programs)
    if (p.took > core::duration{})
      m.sample({"program", p.program}, {"name", p.name}, seconds(p.took));
}

void write_object_metrics(metric_text& m, core::objects::object_counts const& c) {
  m.family("muster_objects", "gauge", "Objects on tasks, by state.");
  for (std::size_t i = 0; i < c.by_state.size(); ++i)
    m.sample("state", lower(name(core::objects::object_state(i))), c.by_state[i]);
  m.family("muster_object_calls_total", "counter", "Object calls that ended, by result.");
  for (std::size_t i = 0; i < c.calls.size(); ++i)
    m.sample("outcome", lower(name(core::objects::call_end(i))), c.calls[i]);
}

void write_dataset_metrics(metric_text& m, core::datasets::dataset_totals const& t) {
  m.gauge("muster_datasets", "Datasets that are being distributed.", t.datasets);
  m.family("muster_dataset_splits", "gauge",
           "Splits of all datasets in the current epochs, by state.");
  m.sample("state", "queued", t.queued);
  m.sample("state", "drawn", t.drawn);
  m.sample("state", "done", t.done);
  m.gauge("muster_dataset_draws_waiting", "Functions that are waiting for a split.", t.waiting);
  m.family("muster_dataset_splits_total", "counter", "Drawn splits by result.");
  m.sample("outcome", "done", t.done_ever);
  m.sample("outcome", "given_back", t.given_back_ever);
}

}  // namespace muster::web
