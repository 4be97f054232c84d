// What a fork server for the ranks of an order is started with, and which ranks it cannot serve.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/ranks/rank_orders.hpp"

namespace muster::launch {

/// Two that are equal can serve each other's ranks.
struct fork_plan {
  std::vector<std::string> interpreter;  // python and its options
  std::vector<std::string> modules;
  environment_map environment;  // what all ranks have in common, and the next attempt has, too
  std::optional<process_user> user{};

  bool operator==(fork_plan const&) const = default;
};

/// None: no rank is to be forked. Tells each rank of the order how it is forked (`python`), or why
/// it is not.
std::optional<fork_plan> plan_forks(start_order& order);

}  // namespace muster::launch
