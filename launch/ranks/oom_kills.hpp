// The number of processes of this process's control group that the kernel has killed for lack of
// memory. If a process dies of SIGKILL and the number rises, the process is assumed to be one of
// them. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace muster::launch {

/// Returns 0 if the system does not provide the number.
std::uint64_t oom_kills();

/// `groups` is the text of /proc/self/cgroup; control groups are below `root`. Version 2 is in
/// `root` or `unified`, version 1 in `memory`. In a container, the path can be that of the host;
/// the container's own group is then the root.
std::uint64_t oom_kills_of(std::string const& groups, std::filesystem::path const& root);

}  // namespace muster::launch
