// Resource use of ranks, including all processes that they started: CPU time, bytes read and
// written, page faults. Walks through /proc once for all ranks; processes are neither stopped nor
// signalled. Thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

namespace muster {

struct vitals {
  // State of the rank's first process: R, S, D, T or Z. If any of the rank's processes is in state
  // T or D, that state is used instead; T has priority over D.
  char state = 0;
  std::uint64_t cpu_ms = 0, io_bytes = 0, faults = 0;
  std::uint64_t wakeups = 0;  // wakeups of the first thread of the rank's first process
};

/// Omits ranks that have exited.
/// @param pids first process of each rank, the leader of its group
/// @param proc path of the proc file system
std::map<std::uint32_t, vitals> vitals_of(std::map<std::uint32_t, pid_t> const& pids,
                                          std::string const& proc = "/proc");

}  // namespace muster
