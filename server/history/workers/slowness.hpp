// Compares the mean durations of workers. Pure functions, without state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "server/core/api/time.hpp"

namespace muster::history {

using namespace muster::core;

/// A worker is slow if its ratio is at least this.
inline constexpr double slow_from_ratio = 1.5;
/// Functions with a shorter median are not compared, because their durations are mostly those of
/// the network.
inline constexpr duration compared_from = std::chrono::milliseconds(1);

/// Executions of one function on one worker that succeeded.
struct duration_sum {
  std::uint32_t worker = 0;
  std::uint32_t function = 0;
  std::uint64_t count = 0;
  duration total{};
};

struct worker_ratio {
  std::uint32_t worker = 0;
  double ratio = 0;  // 2 means twice as slow as the median
};

/// Returns the ratio of each worker that can be compared, ordered by worker. A worker is compared
/// with the median of the workers' means, for each function separately. Its ratio is the median
/// over its functions, so that workers that run longer functions are not slow. Of two middle
/// values, the median is the lower.
/// @param sums can contain several sums of the same worker and function
/// @param least number of executions without which a worker and function are ignored
std::vector<worker_ratio> compare_workers(std::vector<duration_sum> sums, std::uint64_t least);

/// Ratios of a worker in a minute; 0 means unknown.
struct minute_ratios {
  float minute = 0;  // of the executions in this minute
  float window = 0;  // of the executions in this minute and the minutes before it
};

/// Returns the index of the first minute since which the worker has been slow, or nothing if it is
/// not slow now. Minutes without a ratio are skipped. A single faster minute does not interrupt the
/// period while the ratio of the window remains high.
/// @param minutes ordered by time; the last is the current minute
std::optional<std::size_t> slow_since(std::span<minute_ratios const> minutes);

}  // namespace muster::history
