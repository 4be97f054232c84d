// One simulated cluster: a faulty phase, then a healed one in which everything must finish.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tests/simulation/world.hpp"

namespace muster::simulation {

struct report {
  std::uint64_t trace_hash = 0;
  std::uint64_t steps = 0;
  std::uint64_t executed = 0;
  std::uint64_t succeeded = 0, failed = 0, cancelled = 0, put_back = 0, went_on = 0, aborted = 0,
                sessions = 0;
  std::uint64_t raised = 0, resumed = 0, lost = 0, released = 0;  // of sessions that hold values
  std::uint64_t written = 0, read_back = 0, disk_faults = 0, dropped = 0, made_again = 0;  // values
  std::uint64_t retries = 0, refused_retries = 0;  // of jobs
  std::uint64_t waited = 0;                        // times that a closure gave its slot back
  std::uint64_t alone = 0;  // times that a closure was sent to a worker of its own
  std::string violation;    // empty: all invariants held and everything finished
  std::string recent;       // the last events before it
};

/// The core of a cluster, as the run has left it.
using last_look = std::function<void(core::coordinator const& core, core::time_point now)>;

/// Deterministic: the same seed gives the same report. `into`, where there is one, gets every step.
/// `check_every`: see world.
report simulate(std::uint64_t seed, recording* into = nullptr, last_look const& look = {},
                std::uint64_t check_every = 1);

}  // namespace muster::simulation
