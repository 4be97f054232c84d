// State of the machine from a process's point of view: of its control group if the group has a
// lower limit, otherwise of the host. Absent values are unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster {

struct machine {
  static constexpr std::size_t gpus_max = 16, memory_users_max = 3;
  /// If memory usage is at least this fraction, the largest processes are listed.
  static constexpr double memory_short = 0.9;

  struct gpu {
    std::string name{};
    std::optional<double> busy{};  // from 0 to 1
    std::optional<std::uint64_t> memory{}, memory_total{};
  };
  struct memory_user {
    std::uint32_t pid = 0;
    std::string name{};
    std::uint64_t bytes = 0;
  };

  std::string host{};  // host name as reported by the process
  // Average number of busy cores since the previous sample, and number of usable cores.
  std::optional<double> cpu{}, cpus{};
  std::optional<std::uint64_t> memory{}, memory_total{};        // in bytes
  std::optional<double> received{}, sent{}, read{}, written{};  // in bytes per second
  std::vector<gpu> gpus{};
  std::vector<memory_user> memory_users{};  // this process and its descendants, largest first
};

/// Returns the fraction of memory in use, or a negative number if unknown.
inline double memory_part(machine const& m) {
  if (!m.memory || m.memory_total.value_or(0) == 0) return -1;
  return static_cast<double>(*m.memory) / static_cast<double>(*m.memory_total);
}

}  // namespace muster
