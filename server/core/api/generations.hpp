// Ranges of slot generations for each server start, so that closure ids of earlier starts are not
// reused.
#pragma once

#include <cstdint>

namespace muster::core {

inline constexpr std::uint64_t generations_per_start = 1 << 20;

struct generations {
  std::uint32_t first = 1;
  std::uint32_t end = 0;
};

/// Returns the slot generations of a server start. Server starts are numbered from 1. The ranges
/// repeat after 4,095 starts.
inline generations generations_of(std::uint64_t epoch) {
  constexpr std::uint64_t starts = 4'095;
  generations g;
  g.first = static_cast<std::uint32_t>(1 + (epoch - 1) % starts * generations_per_start);
  g.end = static_cast<std::uint32_t>(g.first + generations_per_start);
  return g;
}

/// Returns the server start, from 1 to 4,095, to which a generation belongs.
inline std::uint64_t epoch_of(std::uint32_t generation) {
  return (generation - 1) / generations_per_start + 1;
}

}  // namespace muster::core
