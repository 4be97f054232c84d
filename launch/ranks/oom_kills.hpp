// How many processes of this process's control group the kernel has killed because memory ran out:
// who died of SIGKILL while the number rose is taken for one of them. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace muster::launch {

/// 0 where the system has no such number (control groups of version 2 do).
std::uint64_t oom_kills();

/// Of the text of a file memory.events. Pure.
std::uint64_t oom_kills_in(std::string const& events);

}  // namespace muster::launch
