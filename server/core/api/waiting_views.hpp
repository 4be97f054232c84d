// Views of closures that wait for workers that are not connected; see views.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/core/api/explanation.hpp"
#include "server/core/api/model.hpp"

namespace muster::core {

/// A gang that has not started.
struct gang_view {
  session_id job{};
  gang_wait waits;
  closure_id first{};
  std::string function;  // of the first closure
  time_point since{};    // when the first closure was scheduled
  // Of the first closure, if the workers have no capacity for the gang.
  std::optional<worker_shortage> lack{};
};

struct gangs_view {
  static constexpr std::size_t max = 100;
  std::vector<gang_view> items;  // oldest first
  std::uint64_t more = 0;
};

/// Queued closures whose requirements no connected, accepting worker meets.
struct demand_view {
  closure_options needs;               // only task, labels and resources
  std::vector<std::string> functions;  // at most functions_max
  std::uint64_t queued = 0;
  std::uint64_t workers = 0;  // connected workers that match but are draining or cordoned
  closure_id first{};         // the oldest closure of the first session that was examined
  session_id job{};
  time_point since{};    // when that closure was scheduled
  worker_shortage lack;  // why that closure has no worker

  static constexpr std::size_t functions_max = 10;
};

struct unmet_demand_view {
  static constexpr std::size_t max = 200;
  std::vector<demand_view> items;  // in the order of the jobs
  bool complete = true;            // false: not all queued closures could be examined in time
};

}  // namespace muster::core
