// Finds ranks that are slower than similar ranks. Pure.
//
// A rank is compared with the median of similar ranks in the same step, so that a delay of all
// ranks is ignored. If ranks do not wait for each other, step durations show which rank is slow. If
// ranks wait for each other in each step, the slow rank arrives late. A rank that is slow before a
// waiting point cannot be detected if its program calls step() right after that point.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/core/api/time.hpp"

namespace muster::doctor {

struct step_column {
  std::uint64_t step = 0;
  std::vector<std::uint32_t>
      took{};  // microseconds since each rank's previous step, indexed by rank; 0 if unknown
  std::vector<std::int64_t> at{};  // arrival times on a common clock, indexed by rank; 0 if unknown
};

struct slow_rank {
  std::uint32_t rank = 0;
  bool chronic = false;        // whether the rank is slow in most steps, not only in some steps
  bool arrives_late = false;   // if chronic, whether late arrivals, not step durations, showed this
  std::uint32_t permille = 0;  // if chronic, the median delay in thousandths of a step
  std::uint64_t step = 0;      // if not chronic, the last slow step
  core::duration took{}, usual{};  // duration of `step`; median duration for other ranks
  std::uint32_t times = 0;

  bool operator==(slow_rank const&) const = default;
};

/// Minimum size of a group of similar ranks. Smaller groups are not compared.
inline constexpr std::size_t peers_min = 4;
/// Minimum delay of a chronically slow rank, as a share of a step, and minimum number of steps.
inline constexpr double behind_min = 0.02;
inline constexpr std::size_t steps_min = 50;
/// A step is slow if it takes this many times as long as the steps of similar ranks.
inline constexpr double odd_times = 3;
/// Returns the slow ranks, slowest first.
/// @param like indexed by rank: a number shared by ranks that are compared with each other
/// @param blur maximum error of arrival times
std::vector<slow_rank> slow_ranks(std::span<step_column const> columns,
                                  std::span<std::uint32_t const> like, core::duration blur);

}  // namespace muster::doctor
