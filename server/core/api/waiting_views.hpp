// Views of closures that wait for workers that are not connected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/core/api/explanation.hpp"
#include "server/core/api/model.hpp"

namespace muster::core {

struct gang_view {
  session_id job{};
  gang_wait waits;
  closure_id first{};
  std::string function;  // function of the first closure
  time_point since{};    // when the first closure was scheduled
  // Set if the workers lack capacity for the gang. Describes the gang's first closure.
  std::optional<worker_shortage> lack{};
};

struct gangs_view {
  static constexpr std::size_t max = 100;
  std::vector<gang_view> items;  // oldest first
  std::uint64_t more = 0;
};

/// Queued closures whose requirements are not met by any worker that accepts closures.
struct demand_view {
  closure_options needs;               // contains only task, labels and resources
  std::vector<std::string> functions;  // at most functions_max
  std::uint64_t queued = 0;
  std::uint64_t workers = 0;  // matching workers that are draining or cordoned
  closure_id first{};         // oldest closure of the first session that was examined
  session_id job{};
  time_point since{};    // when `first` was scheduled
  worker_shortage lack;  // why no worker can run `first`

  static constexpr std::size_t functions_max = 10;
};

struct unmet_demand_view {
  static constexpr std::size_t max = 200;
  std::vector<demand_view> items;  // ordered by job
  bool complete = true;            // false if there was no time to examine all queued closures
};

}  // namespace muster::core
