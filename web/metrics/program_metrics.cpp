// The families on programs and their ranks.
#include "base/text.hpp"
#include "web/metrics/closure_metrics.hpp"

namespace muster::web {

void write_program_metrics(metric_text& m, core::program_counts const& c) {
  m.family("muster_programs", "gauge", "Programs that are known, by state.");
  for (std::size_t i = 0; i < core::program_states; ++i)
    m.sample("state", lower(core::name(core::program_state(i))), c.by_state[i]);
  m.gauge("muster_program_ranks", "Ranks of programs that are not known to be dead.",
          c.ranks_alive);
}

}  // namespace muster::web
