// Time and chance as the resolvers see them, so that tests need not wait. A value; its functions
// are called by the thread that uses the resolver.
#pragma once

#include <chrono>
#include <functional>

namespace muster::cluster {

struct time_source {
  std::function<std::chrono::steady_clock::time_point()> now;
  std::function<std::chrono::system_clock::time_point()> wall;
  std::function<void(std::chrono::milliseconds)> wait;
  /// From 0 up to 1: spreads those who try again at the same time.
  std::function<double()> chance;
};

time_source real_time();

}  // namespace muster::cluster
