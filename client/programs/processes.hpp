// Which processes there are and which rank each belongs to, as /proc has it. Any thread.
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
  char state = 'X';                     // R S D T Z
  std::uint64_t ticks = 0, faults = 0;  // with those of children that were waited for
};

/// That are looked at. More: the rest counts for nothing.
inline constexpr std::size_t seen_processes_max = 16'384;

using seen_processes = std::unordered_map<pid_t, seen_process>;
seen_processes all_processes(std::string const& proc = "/proc");
/// None: there is no such process.
std::optional<seen_process> look_at(pid_t pid, std::string const& proc = "/proc");

/// The rank that has started the process, itself or by others. `ranks`: by the first process of
/// each, which leads its group.
std::optional<std::uint32_t> rank_of(pid_t pid, std::map<pid_t, std::uint32_t> const& ranks,
                                     seen_processes const& all);

}  // namespace muster
