// Counters of a listener, for /metrics.
#pragma once

#include <cstdint>

namespace muster {

struct connection_counts {
  std::uint64_t half_open = 0;  // current number; all other counters count since the start
  // Closed connections by reason:
  std::uint64_t header_timeout = 0;  // the first request or preface did not arrive in time
  std::uint64_t body_timeout = 0;    // a request body arrived too slowly
  std::uint64_t address_limit = 0;   // displaced by newer connections from the same address
  std::uint64_t made_room = 0;       // displaced because all connection places or file descriptors
                                     // were in use
  std::uint64_t out_of_descriptors = 0;
  // Memory used by gRPC's unfinished messages and header blocks, and its maximum.
  std::uint64_t held_bytes = 0, memory_max = 0;
  // Closed gRPC connections by reason:
  std::uint64_t header_block = 0;
  std::uint64_t before_token = 0;  // too much data before a token
  std::uint64_t memory = 0;        // used the most memory when the total exceeded the limit
};

}  // namespace muster
