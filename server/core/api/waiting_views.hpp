// Copies of what waits for workers that are not there, for readers; see views.hpp.
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
  std::string function;               // of the first
  time_point since{};                 // when the first was scheduled
  std::optional<worker_lack> lack{};  // of the first, where the workers have no room for the gang
};

struct gangs_view {
  static constexpr std::size_t max = 100;
  std::vector<gang_view> items;  // the oldest first
  std::uint64_t more = 0;
};

/// Queued closures that ask for what no connected worker that takes closures has.
struct demand_view {
  closure_options needs;               // task, labels and resources alone
  std::vector<std::string> functions;  // at most functions_max of them
  std::uint64_t queued = 0;
  std::uint64_t workers = 0;  // connected, and would do, but they are draining or cordoned
  closure_id first{};         // the oldest of the session that was looked at first
  session_id job{};
  time_point since{};  // when the first was scheduled
  worker_lack lack;    // why the first of them has no worker

  static constexpr std::size_t functions_max = 10;
};

struct unmet_demand_view {
  static constexpr std::size_t max = 200;
  std::vector<demand_view> items;  // in the order of the jobs
  bool complete = true;            // false: there was no time to look at all that is queued
};

}  // namespace muster::core
