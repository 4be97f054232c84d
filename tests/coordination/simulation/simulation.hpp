// One simulated cluster of agents: a faulty phase, then rest, in which nothing may stay parked that
// could end, then a healed phase, in which everybody must get through a whole run.
#pragma once

#include <cstdint>
#include <string>

namespace muster::coordination_simulation {

struct recording;

struct report {
  std::uint64_t trace_hash = 0, steps = 0, generations = 0;
  std::uint64_t registered = 0, passed = 0, failed = 0, deaths = 0, told = 0;
  std::uint64_t kills = 0;
  std::string violation;  // empty: every invariant held and everything ended
  std::string recent;     // what came before it
};

/// Deterministic: the same seed gives the same report. `to`: where to note every step, or null.
/// `kills`: what the server promises is on a disk, and now and then it is killed and begins again.
report simulate(std::uint64_t seed, recording* to = nullptr, bool kills = false);

}  // namespace muster::coordination_simulation
