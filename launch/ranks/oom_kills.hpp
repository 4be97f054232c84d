// Number of processes of this process's control group that the kernel has killed for lack of
// memory. A process that dies of SIGKILL while the number rises is considered one of them. Any
// thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace muster::launch {

/// Returns 0 if the system does not provide the number.
std::uint64_t oom_kills();

/// Returns the number for the text of /proc/self/cgroup and control groups below `root`. Version 2
/// is in `root` or `unified`, version 1 in `memory`. In a container, the path can be the host's;
/// the container's own group is then the root.
std::uint64_t oom_kills_of(std::string const& groups, std::filesystem::path const& root);

}  // namespace muster::launch
