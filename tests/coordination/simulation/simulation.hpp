// A simulated cluster in three phases: faults, then rest, in which every call must end, then a
// complete run without faults.
#pragma once

#include <cstdint>

#include "tests/support/simulation/report.hpp"

namespace muster::coordination_simulation {

struct recording;

using simulation::report;

/// Runs a simulation; the same seed gives the same report. `to` can be null. With `kills` the
/// server is killed and restarted from its disk.
report simulate(std::uint64_t seed, recording* to = nullptr, bool kills = false);

}  // namespace muster::coordination_simulation
