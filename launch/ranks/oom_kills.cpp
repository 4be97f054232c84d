// Reads memory.events of the own control group.
#include "launch/ranks/oom_kills.hpp"

#include <fstream>
#include <sstream>

namespace muster::launch {

std::uint64_t oom_kills_in(std::string const& events) {
  std::istringstream lines(events);
  std::string name;
  for (std::uint64_t n = 0; lines >> name >> n;)
    if (name == "oom_kill") return n;
  return 0;
}

std::uint64_t oom_kills() {
  auto groups = std::ifstream("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;
    std::ostringstream events;
    events << std::ifstream("/sys/fs/cgroup" + line.substr(3) + "/memory.events").rdbuf();
    return oom_kills_in(events.str());
  }
  return 0;
}

}  // namespace muster::launch
