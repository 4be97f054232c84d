// The number of processes in this process's control group that the kernel has killed for lack of
// memory. If SIGKILL ends a process and the number increases, the kernel is assumed to have killed
// this process. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace muster::launch {

/// Returns 0 if the system does not provide the number.
std::uint64_t oom_kills();

/// `groups` is the content of /proc/self/cgroup; control groups are below `root`. Version 2 is in
/// `root` or `unified`, version 1 in `memory`. In a container, the path can be the host's path; the
/// container's own group is then the root.
std::uint64_t oom_kills_of(std::string const& groups, std::filesystem::path const& root);

}  // namespace muster::launch
