// Explains why a waiting program cannot start on idle workers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/core/programs/placement.hpp"

namespace muster::core::programs {

struct obstacle {
  enum class kind : std::uint8_t {
    room,        ///< the workers are too few or too small
    resource,    ///< no worker has the amount for one task
    labels,      ///< no worker has the labels of a type
    per_worker,  ///< the `per_worker` limit is the only obstacle
    ports,       ///< the number of ports is the only obstacle
  };
  kind what = kind::room;
  std::string text{};  // missing amount or labels, such as "gpu=4" or "zone=a, disk=ssd"
};

/// Returns why the program does not fit in `rooms`, the capacities of idle workers. `without_ports`
/// contains the capacities without the port limit. REQUIRES: the program does not fit in `rooms`.
obstacle obstacle_of(program_spec const& spec, std::vector<room> const& rooms,
                     std::vector<room> const& without_ports);

}  // namespace muster::core::programs
