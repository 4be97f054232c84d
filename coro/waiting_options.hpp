// Limits of connections whose client has not yet spoken; see waiting_connections. Plain data.
#pragma once

#include <chrono>
#include <cstddef>

namespace muster::coro {

struct waiting_options {
  // For the first words. Longer: closed.
  std::chrono::milliseconds speak_timeout{10'000};
  // Full: the oldest of all, or of the address, makes room for the next.
  std::size_t all_max = 4096;
  std::size_t per_address_max = 1024;
};

}  // namespace muster::coro
