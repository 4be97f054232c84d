// One simulated cluster of agents in three phases: faults; rest, in which every call that can end
// must end; and a fault-free phase, in which all agents must complete a run.
#pragma once

#include <cstdint>

#include "tests/support/simulation/report.hpp"

namespace muster::coordination_simulation {

struct recording;

using simulation::report;

/// Runs one simulation; the same seed gives the same report. `to` receives every step, or is null.
/// `kills`: the server's state is on a disk, and the server is killed and restarted now and then.
report simulate(std::uint64_t seed, recording* to = nullptr, bool kills = false);

}  // namespace muster::coordination_simulation
