// Resource use of ranks: CPU time, bytes read and written, page faults, including all processes
// that they started. One walk through /proc for all ranks; processes are neither stopped nor
// signalled. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

namespace muster {

struct vitals {
  // State of the rank's own process: R, S, D, T or Z. T or else D, if any of its processes has it.
  char state = 0;
  std::uint64_t cpu_ms = 0, io_bytes = 0, faults = 0;
  std::uint64_t wakeups = 0;  // of its own process's first thread
};

/// Returns vitals by rank; ranks that have ended are left out.
/// @param pids first process of each rank, the leader of its group
/// @param proc differs in tests
std::map<std::uint32_t, vitals> vitals_of(std::map<std::uint32_t, pid_t> const& pids,
                                          std::string const& proc = "/proc");

}  // namespace muster
