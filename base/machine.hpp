// What a process sees of the machine that it is on: of its control group where that may use less
// than the host has, else of the host. What is empty is not known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster {

struct machine {
  static constexpr std::size_t gpus_max = 16, memory_users_max = 3;
  /// Memory is short from this part of it on: who has it is looked for.
  static constexpr double memory_short = 0.9;

  struct gpu {
    std::string name{};
    std::optional<double> busy{};  // 0 to 1
    std::optional<std::uint64_t> memory{}, memory_total{};
  };
  struct memory_user {
    std::uint32_t pid = 0;
    std::string name{};
    std::uint64_t bytes = 0;
  };

  std::string host{};                   // its name, as who tells calls it
  std::optional<double> cpu{}, cpus{};  // cores: busy since the one before, and usable
  std::optional<std::uint64_t> memory{}, memory_total{};        // bytes
  std::optional<double> received{}, sent{}, read{}, written{};  // bytes in a second
  std::vector<gpu> gpus{};
  std::vector<memory_user> memory_users{};  // the process and what it has started, largest first
};

/// The part of the memory that is in use. Negative: not known.
inline double memory_part(machine const& m) {
  if (!m.memory || m.memory_total.value_or(0) == 0) return -1;
  return static_cast<double>(*m.memory) / static_cast<double>(*m.memory_total);
}

}  // namespace muster
