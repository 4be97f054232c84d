// Computes percentiles by the nearest-rank method.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ranges>

namespace muster {

/// Returns the 1-based rank of a percentile among `count` values in ascending order.
/// @param part from 0 to 1; for example, 0.5 is the median, or the smaller of two values
/// @pre count > 0
inline std::uint64_t percentile_rank(double part, std::uint64_t count) {
  // Rounding errors of the product, such as 0.07 * 100, must not increase the rank.
  auto const rank = std::ceil(part * static_cast<double>(count) - 1e-9);
  return std::clamp<std::uint64_t>(rank > 1 ? static_cast<std::uint64_t>(rank) : 1, 1, count);
}

/// Returns a percentile of values in ascending order.
/// @pre `sorted` is not empty.
template <class Sorted>
auto percentile(Sorted const& sorted, double part) {
  return sorted[static_cast<std::size_t>(percentile_rank(part, sorted.size())) - 1];
}

/// Returns a percentile of grouped values, assuming that each group's values are evenly spaced.
/// @param groups range of {count, least, most} in ascending order
/// @return a value between `least` and `most` of a group; exact for groups of one or two values,
///   default-constructed if there are no values
template <class Groups>
auto percentile_of_groups(Groups const& groups, double part) {
  decltype(std::ranges::begin(groups)->least) none{};
  std::uint64_t all = 0;
  for (auto const& g : groups) all += g.count;
  if (all == 0) return none;
  auto rank = percentile_rank(part, all);
  for (auto const& g : groups) {
    if (rank > g.count) {
      rank -= g.count;
      continue;
    }
    if (g.count == 1) return g.least;
    auto const share = static_cast<double>(rank - 1) / static_cast<double>(g.count - 1);
    auto const width = static_cast<double>((g.most - g.least).count());
    return g.least + decltype(none)(std::llround(share * width));
  }
  return none;
}

}  // namespace muster
