// How many processes of this process's control group the kernel has killed because memory ran out:
// who died of SIGKILL while the number rose is taken for one of them. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace muster::launch {

/// 0 where the system has no such number.
std::uint64_t oom_kills();

/// The same with the text of /proc/self/cgroup, and control groups below `root`. Those of version 2
/// stand there or in `unified`, those of version 1 in `memory`; in a container the path may be one
/// of the host's, and its own group is the root of what it sees.
std::uint64_t oom_kills_of(std::string const& groups, std::filesystem::path const& root);

}  // namespace muster::launch
