// Writes metrics in the Prometheus text format. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/core/coordination/api/coordination_views.hpp"
#include "server/hub/coordination_hub.hpp"
#include "web/metrics/closure_metrics.hpp"
#include "web/metrics/counters.hpp"
#include "web/metrics/metrics.hpp"

namespace muster::web {

/// Unknown values are zero.
struct process_facts {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  double start_time_s = 0;
  double open_files = 0, open_files_max = 0;
};
process_facts read_process_facts();

/// Maximum number of clusters with their own samples.
inline constexpr std::size_t clusters_measured = 100;

struct measured_coordination {
  std::vector<core::coordination::cluster_view> clusters{};
  std::optional<server::coordination_hub::durability> durable{};  ///< not set if nothing is durable
};

std::string prometheus_text(counters const& c, measured_closures const& closures,
                            measured_coordination const& coordination, web_metrics const& w,
                            process_facts const& p);

}  // namespace muster::web
