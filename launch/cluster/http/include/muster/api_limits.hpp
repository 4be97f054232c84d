// Limits for the duration and the retries of a query.
#pragma once

#include <chrono>

namespace muster::cluster {

struct api_limits {
  std::chrono::milliseconds one_try = std::chrono::seconds(10);
  std::chrono::milliseconds total = std::chrono::seconds(60);  // including delays
  int tries = 5;
  /// Doubles with each retry; the actual delay is random, between half and all of it.
  std::chrono::milliseconds first_wait = std::chrono::milliseconds(250);
  std::chrono::milliseconds longest_wait = std::chrono::seconds(8);
};

}  // namespace muster::cluster
