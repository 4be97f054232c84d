// What ranks have done so far: processor, calls that read and write, pages, of each with all that
// it has started. One walk through /proc for all of them, so a rank costs a few small files; nobody
// is stopped or signalled for it. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

namespace muster {

struct vitals {
  // Of the rank's own process: R S D T Z; T or D, in this order, where any of them is.
  char state = 0;
  std::uint64_t cpu_ms = 0, io_bytes = 0, faults = 0;
  std::uint64_t wakeups = 0;  // how often the first thread of its own process was woken
};

/// `pids`: of the first process of each rank, which leads its group. Those that are gone are not in
/// it. `proc` is another one in tests.
std::map<std::uint32_t, vitals> vitals_of(std::map<std::uint32_t, pid_t> const& pids,
                                          std::string const& proc = "/proc");

}  // namespace muster
