// One simulated cluster: a faulty phase, then a healed one in which everything must finish.
#pragma once

#include <cstdint>
#include <functional>

#include "tests/simulation/world.hpp"

namespace muster::simulation {

/// The core of a cluster, as the run has left it.
using last_look = std::function<void(core::coordinator const& core, core::time_point now)>;

/// Deterministic: the same seed gives the same report. `into`, where there is one, gets every step.
/// `check_every`: see world.
report simulate(std::uint64_t seed, recording* into = nullptr, last_look const& look = {},
                std::uint64_t check_every = 1);

}  // namespace muster::simulation
