// Reasons why a program would not fit even on idle workers. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/core/programs/placement.hpp"

namespace muster::core::programs {

struct obstacle {
  enum class kind : std::uint8_t {
    room,        ///< too few or too small workers
    resource,    ///< no worker has the amount that one task requires
    labels,      ///< no worker has the labels that a type requires
    per_worker,  ///< only the program's `per_worker` limit
    ports,       ///< only the number of ports
  };
  kind what = kind::room;
  std::string text{};  // examples: "gpu=4", "zone=a, disk=ssd"
};

/// Returns what prevents a start on idle workers. The ports of a worker limit its ranks in `rooms`,
/// but not in `without_ports`. REQUIRES: the program does not fit in `rooms`.
obstacle obstacle_of(program_spec const& spec, std::vector<room> const& rooms,
                     std::vector<room> const& without_ports);

}  // namespace muster::core::programs
