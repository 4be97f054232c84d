// The workers that could run ranks of a program, as capacities for a plan.
#pragma once

#include <vector>

#include "server/core/programs/hosts.hpp"
#include "server/core/programs/ledger.hpp"
#include "server/core/programs/placement.hpp"
#include "server/core/programs/program.hpp"

namespace muster::core::programs {

/// Failures of a program on a host after which the host is avoided while others fit.
constexpr std::uint32_t avoided_after = 2;

struct fleet {
  enum class amounts : bool { free, all };
  std::vector<host_number> hosts;
  std::vector<room> rooms;  // capacity by position in `hosts`
  bool few_ports = false;   // ports limit some capacities
};

/// Returns the workers that accept new ranks, ordered by task. `avoid`: excludes hosts on which the
/// program has failed.
fleet fleet_for(program const& p, host_table const& hosts, ledger const& resources,
                program_limits const& limits, time_point now, fleet::amounts which, bool avoid);

}  // namespace muster::core::programs
