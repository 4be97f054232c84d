// The workers that could run ranks of a program, with their capacities.
#pragma once

#include <vector>

#include "server/core/programs/hosts.hpp"
#include "server/core/programs/ledger.hpp"
#include "server/core/programs/placement.hpp"
#include "server/core/programs/program.hpp"

namespace muster::core::programs {

/// A host with this many failures of a program is avoided while other hosts suffice.
constexpr std::uint32_t avoided_after = 2;

struct fleet {
  enum class amounts : bool { free, all };
  std::vector<host_number> hosts;
  std::vector<room> rooms;  // capacity of each host in `hosts`
  bool few_ports = false;   // whether ports limit some capacities
};

/// Returns the workers that accept new ranks, ordered by task. If `avoid` is true, excludes hosts
/// on which the program has failed.
fleet fleet_for(program const& p, host_table const& hosts, ledger const& resources,
                program_limits const& limits, time_point now, fleet::amounts which, bool avoid);

}  // namespace muster::core::programs
