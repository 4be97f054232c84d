#include "base/process/machine/control_group.hpp"

#include <algorithm>

#include "base/process/machine/small_file.hpp"

namespace muster {
namespace {

// Version 1 reports an unlimited group as the largest number of pages.
constexpr std::uint64_t no_limit_from = std::uint64_t{1} << 60;

// Visits the group and its ancestors. If a container's group appears as the root, the path is the
// host's path, and only the mount point exists.
template <class Look>
void upwards(std::string const& mount, std::string path, Look const& look) {
  for (;;) {
    while (path.size() > 0 && path.back() == '/') path.pop_back();
    look(mount + path);
    if (path.empty()) return;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

bool names(std::string_view controllers, std::string_view one) {
  while (!controllers.empty()) {
    auto const comma = controllers.find(',');
    if (controllers.substr(0, comma) == one) return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

control_group::control_group(std::string const& root) {
  auto const mount = root + "/sys/fs/cgroup";
  auto const groups = read_small_file(root + "/proc/self/cgroup");
  each_line(groups, [&](std::string_view line) {  // for example "5:cpu,cpuacct:/path", "0::/path"
    auto const first = line.find(':');
    auto const second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) return;
    auto const controllers = line.substr(first + 1, second - first - 1);
    std::string const path(line.substr(second + 1));
    if (path.find("..") != std::string::npos) return;
    if (controllers.empty()) {
      find_memory(mount, path, true);
      find_cpu(mount, path, true);
    }
    if (names(controllers, "memory")) find_memory(mount + "/memory", path, false);
    if (names(controllers, "cpu")) find_cpu(mount + "/cpu", path, false);
  });
}

void control_group::find_memory(std::string const& mount, std::string path, bool second) {
  upwards(mount, std::move(path), [&](std::string const& at) {
    auto const limit =
        leading_number(read_small_file(at + (second ? "/memory.max" : "/memory.limit_in_bytes")));
    if (!limit || *limit >= no_limit_from || (memory_limit_ && *memory_limit_ <= *limit)) return;
    memory_limit_ = limit;
    memory_at_ = at;
    memory_v2_ = second;
  });
}

void control_group::find_cpu(std::string const& mount, std::string path, bool second) {
  upwards(mount, std::move(path), [&](std::string const& at) {
    std::optional<std::uint64_t> quota, period;
    if (second) {
      auto const text = read_small_file(at + "/cpu.max");  // for example "max 100000"
      std::string_view rest = text;
      quota = leading_number(next_field(rest));
      period = leading_number(rest);
    } else {
      quota = leading_number(read_small_file(at + "/cpu.cfs_quota_us"));  // -1 means no limit
      period = leading_number(read_small_file(at + "/cpu.cfs_period_us"));
    }
    if (!quota || period.value_or(0) == 0) return;
    auto const cores = static_cast<double>(*quota) / static_cast<double>(*period);
    if (cpu_limit_ && *cpu_limit_ <= cores) return;
    cpu_limit_ = cores;
    cpu_at_ = at;
    cpu_v2_ = second;
  });
}

std::optional<std::uint64_t> control_group::memory() const {
  if (!memory_limit_) return {};
  auto const used = leading_number(
      read_small_file(memory_at_ + (memory_v2_ ? "/memory.current" : "/memory.usage_in_bytes")));
  if (!used) return {};
  auto const idle = number_after(read_small_file(memory_at_ + "/memory.stat"),
                                 memory_v2_ ? "inactive_file" : "total_inactive_file");
  return *used - std::min(*used, idle.value_or(0));
}

std::optional<double> control_group::cpu_seconds() const {
  if (!cpu_limit_) return {};
  auto const used = cpu_v2_ ? number_after(read_small_file(cpu_at_ + "/cpu.stat"), "usage_usec")
                            : leading_number(read_small_file(cpu_at_ + "/cpuacct.usage"));
  if (!used) return {};
  return static_cast<double>(*used) / (cpu_v2_ ? 1e6 : 1e9);
}

}  // namespace muster
