// Clocks, delays and randomness of resolvers, which tests can replace. The resolver calls the
// functions on its thread.
#pragma once

#include <chrono>
#include <functional>

namespace muster::cluster {

struct time_source {
  std::function<std::chrono::steady_clock::time_point()> now;
  std::function<std::chrono::system_clock::time_point()> wall;
  std::function<void(std::chrono::milliseconds)> wait;
  /// Returns a random number in [0, 1) for jitter.
  std::function<double()> chance;
};

time_source real_time();

}  // namespace muster::cluster
