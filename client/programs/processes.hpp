// The machine's processes, read from /proc, and the ranks to which they belong. Thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

namespace muster {

struct seen_process {
  pid_t parent = 0, group = 0;
  char state = 'X';                     // process state: R, S, D, T or Z
  std::uint64_t ticks = 0, faults = 0;  // including waited-for children
};

/// Maximum number of processes; further processes are ignored.
inline constexpr std::size_t seen_processes_max = 16'384;

using seen_processes = std::unordered_map<pid_t, seen_process>;
seen_processes all_processes(std::string const& proc = "/proc");
/// Returns nullopt if the process does not exist.
std::optional<seen_process> look_at(pid_t pid, std::string const& proc = "/proc");

/// Returns the rank that started the process directly or indirectly. `ranks` is indexed by each
/// rank's first process, which leads the process group.
std::optional<std::uint32_t> rank_of(pid_t pid, std::map<pid_t, std::uint32_t> const& ranks,
                                     seen_processes const& all);

}  // namespace muster
