// The file by which a rank says its steps: the rank has it mapped, its worker reads it once a
// second. The worker makes it and writes the order; the rank writes all else.
// python/muster/steps.py has the same numbers.
//
// The rank writes an entry, then the count, then reads the order; the worker writes the order, then
// reads the count. So of a rank that goes on without having seen the order the worker sees the
// step.
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
  std::uint64_t order = 0;  // 0: go on; wait; else stop after this step, plus 1
  std::uint64_t count = 0;  // entries that were ever written
  std::uint64_t unused[5] = {};
  std::array<entry, ring> entries{};
};
static_assert(sizeof(layout) == 64 + 16 * ring);
inline constexpr std::uint64_t wait = ~std::uint64_t{0};

}  // namespace muster::steps
