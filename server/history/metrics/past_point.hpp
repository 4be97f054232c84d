// A point of a chart of the whole server, as readers show it and as it outlives the process. Plain
// data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "server/core/api/time.hpp"

namespace muster::history {

using namespace muster::core;

struct past_point {
  /// Figures by their place. Rates are a second's, times milliseconds.
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

  std::uint32_t series = 0;  ///< 0: by the second, 1: by ten seconds, 2: by the minute
  time_point at{};           ///< when its step ended
  std::array<float, figures_count> figures{};

  bool operator==(past_point const&) const = default;
};

}  // namespace muster::history
