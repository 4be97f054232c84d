// A point of a server-wide chart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "server/core/api/time.hpp"

namespace muster::history {

using namespace muster::core;

struct chart_point {
  /// Rates are per second; times are in milliseconds.
  enum figure : std::size_t {
    queued,
    running,
    finished,
    failed,
    heartbeat_p99,
    wait_p50,
    wait_p99,
    run_p50,
    run_p99,
    figures_count
  };

  std::uint32_t series = 0;  ///< resolution: 0 is 1 s, 1 is 10 s, 2 is 1 min
  time_point at{};           ///< end of the interval
  std::array<float, figures_count> figures{};

  bool operator==(chart_point const&) const = default;
};

}  // namespace muster::history
