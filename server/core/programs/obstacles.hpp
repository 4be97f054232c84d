// Why workers would not have room for a program even if they were idle. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/core/programs/placement.hpp"

namespace muster::core::programs {

struct obstacle {
  enum class kind : std::uint8_t {
    room,        ///< nothing but their number and size
    resource,    ///< no worker has as much of it as one task asks for
    labels,      ///< no worker has those that a type asks for
    per_worker,  ///< without the program's own bound there would be room
    ports,       ///< with more of them there would be
  };
  kind what = kind::room;
  std::string text{};  // "gpu=4", "zone=a, disk=ssd"
};

/// What stands in the way on idle workers. `rooms` have as many ranks at most as they have ports,
/// `without_ports` are the same without that bound. REQUIRES: it has no place in `rooms`.
obstacle obstacle_of(program_spec const& spec, std::vector<room> const& rooms,
                     std::vector<room> const& without_ports);

}  // namespace muster::core::programs
