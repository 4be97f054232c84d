// Settings of a fork server for the ranks of an order, and the ranks that it cannot fork. Pure
// function.
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
  environment_map environment;  // common to all ranks and to the next attempt
  std::optional<process_user> user{};

  bool operator==(fork_plan const&) const = default;
};

/// Returns nullopt if no rank can be forked. Sets `python` of each rank that can be forked, or
/// `not_preloaded` to the reason why it cannot.
std::optional<fork_plan> plan_forks(start_order& order);

}  // namespace muster::launch
