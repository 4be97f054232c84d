// One simulated cluster: a faulty phase, then a healed phase in which everything must finish.
#pragma once

#include <cstdint>
#include <functional>

#include "tests/simulation/world.hpp"

namespace muster::simulation {

using last_look = std::function<void(core::coordinator const& core, core::time_point now)>;

/// Runs a simulation; the same seed gives the same report. `into` can be null. See world for
/// `check_every`.
report simulate(std::uint64_t seed, recording* into = nullptr, last_look const& look = {},
                std::uint64_t check_every = 1);

}  // namespace muster::simulation
