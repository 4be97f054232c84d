// The workers that could take ranks of a program, as rooms for a plan.
#pragma once

#include <vector>

#include "server/core/programs/hosts.hpp"
#include "server/core/programs/ledger.hpp"
#include "server/core/programs/placement.hpp"
#include "server/core/programs/program.hpp"

namespace muster::core::programs {

/// A host that has failed a program so often is avoided while others fit.
constexpr std::uint32_t avoided_after = 2;

struct fleet {
  enum class amounts : bool { free, all };
  std::vector<host_number> hosts;
  std::vector<room> rooms;  // of each, with its position
  bool few_ports = false;   // some have less room for that
};

/// Those that are open, in order of tasks. `avoid`: without those that have failed the program.
fleet fleet_for(program const& p, host_table const& hosts, ledger const& resources,
                program_limits const& limits, time_point now, fleet::amounts which, bool avoid);

}  // namespace muster::core::programs
