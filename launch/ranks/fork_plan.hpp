// Pure function that determines the settings of a fork server for an order's ranks, and the ranks
// that the server cannot fork.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/ranks/rank_orders.hpp"

namespace muster::launch {

/// Fork servers with equal plans are interchangeable.
struct fork_plan {
  std::vector<std::string> interpreter;
  std::vector<std::string> modules;
  environment_map environment;  // variables that all ranks and the next attempt share
  std::optional<process_user> user{};

  bool operator==(fork_plan const&) const = default;
};

/// Returns nullopt if no rank can be forked. Sets `python` of each rank that can be forked, and
/// `not_preloaded` of each other rank to the reason.
std::optional<fork_plan> plan_forks(start_order& order);

}  // namespace muster::launch
