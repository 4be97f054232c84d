// Time and retry limits of a query.
#pragma once

#include <chrono>

namespace muster::cluster {

struct api_limits {
  std::chrono::milliseconds one_try = std::chrono::seconds(10);
  std::chrono::milliseconds total = std::chrono::seconds(60);  // including the delays between
                                                               // retries
  int tries = 5;
  /// Delay before the first retry, doubled with each retry. The actual delay is random, between
  /// half and all of it.
  std::chrono::milliseconds first_wait = std::chrono::milliseconds(250);
  std::chrono::milliseconds longest_wait = std::chrono::seconds(8);
};

}  // namespace muster::cluster
