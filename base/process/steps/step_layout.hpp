// Shared file through which a rank reports its steps. The rank maps it, and its worker reads it
// once per second. The worker creates the file and writes `order`; the rank writes everything else.
// python/muster/steps.py has the same numbers.
//
// The rank writes an entry, then `count`, then reads `order`. The worker writes `order`, then reads
// `count`. Therefore, if a rank continues without having seen an order, the worker sees its step.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace muster::steps {

inline constexpr char const* variable = "MUSTER_STEPS";
inline constexpr std::uint64_t magic = 0x3170657473'6d75;  // "mustep1"
inline constexpr std::size_t ring = 128;                   // a power of two
inline constexpr std::uint64_t step_max = std::uint64_t{1} << 53;

struct entry {
  std::uint64_t step = 0;
  std::uint64_t ns = 0;  // CLOCK_MONOTONIC
};

struct layout {
  std::uint64_t magic = 0;
  // 0 means continue, and `wait` means wait for another order. Any other value is the last step
  // plus 1.
  std::uint64_t order = 0;
  std::uint64_t count = 0;
  std::uint64_t unused[5] = {};
  std::array<entry, ring> entries{};
};
static_assert(sizeof(layout) == 64 + 16 * ring);
inline constexpr std::uint64_t wait = ~std::uint64_t{0};

}  // namespace muster::steps
