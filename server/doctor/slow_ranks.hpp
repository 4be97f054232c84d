// Which ranks are behind the others, by their steps. Pure.
//
// A rank is compared with the median of its like in the same step, so what slows all is nobody's.
// Two things are looked at. How long its steps take: that tells where ranks do not wait for each
// other. When it reaches each step: where ranks wait for each other in every step, all steps take
// equally long, and who is slow is late. What cannot be seen: a rank that is slow before a point
// where all wait for each other, when its program calls step() right behind that point.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/core/api/time.hpp"

namespace muster::doctor {

/// One step, as far as it is known.
struct step_column {
  std::uint64_t step = 0;
  std::vector<std::uint32_t> took{};  // by rank, microseconds since its step before; 0: not known
  std::vector<std::int64_t> at{};     // by rank, when it was reached, by one clock; 0: not known
};

struct slow_rank {
  std::uint32_t rank = 0;
  bool chronic = false;            // it is behind in step after step; else in one, now and then
  bool arrives_late = false;       // chronic: seen by when it arrives, not by how long it takes
  std::uint32_t permille = 0;      // chronic: of a step, by which it is behind in the median
  std::uint64_t step = 0;          // not chronic: the last of those steps…
  core::duration took{}, usual{};  // …how long it took, and others in the median
  std::uint32_t times = 0;         // how many there are among those that are looked at

  bool operator==(slow_rank const&) const = default;
};

/// `like`: by rank, a number that those have in common who are compared with each other. Fewer than
/// `peers_min` of one kind are not compared. `blur`: by so much the clock of arrivals may be wrong.
inline constexpr std::size_t peers_min = 4;
/// A rank is chronically behind by so much of a step at least, over so many steps at least.
inline constexpr double behind_min = 0.02;
inline constexpr std::size_t steps_min = 50;
/// A step is an odd one when it takes so many times what others take.
inline constexpr double odd_times = 3;
/// The worst first.
std::vector<slow_rank> slow_ranks(std::span<step_column const> columns,
                                  std::span<std::uint32_t const> like, core::duration blur);

}  // namespace muster::doctor
