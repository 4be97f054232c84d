// One simulated cluster of agents: a faulty phase, then rest, in which nothing may stay parked that
// could end, then a healed phase, in which everybody must get through a whole run.
#pragma once

#include <cstdint>

#include "tests/support/simulation/report.hpp"

namespace muster::coordination_simulation {

struct recording;

using simulation::report;

/// Deterministic: the same seed gives the same report. `to`: where to note every step, or null.
/// `kills`: what the server promises is on a disk, and now and then it is killed and begins again.
report simulate(std::uint64_t seed, recording* to = nullptr, bool kills = false);

}  // namespace muster::coordination_simulation
