// One simulated cluster: a faulty phase, then a healed one in which everything must finish.
#pragma once

#include <cstdint>
#include <string>

namespace muster::simulation {

struct report {
  std::uint64_t trace_hash = 0;
  std::uint64_t steps = 0;
  std::uint64_t executed = 0;
  std::uint64_t succeeded = 0, failed = 0, cancelled = 0, put_back = 0, went_on = 0, aborted = 0,
                sessions = 0;
  std::uint64_t raised = 0, resumed = 0, lost = 0, released = 0;  // of sessions that hold values
  std::uint64_t written = 0, read_back = 0, disk_faults = 0, dropped = 0, made_again = 0;  // values
  std::string violation;  // empty: all invariants held and everything finished
  std::string recent;     // the last events before it
};

/// Deterministic: the same seed gives the same report.
report simulate(std::uint64_t seed);

}  // namespace muster::simulation
