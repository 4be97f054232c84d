// What a listener has counted, for /metrics. Plain data.
#pragma once

#include <cstdint>

namespace muster {

struct connection_counts {
  std::uint64_t half_open = 0;  // now; the others since the start
  // Closed, because
  std::uint64_t header_timeout = 0;  // they had not said what they want in time
  std::uint64_t body_timeout = 0;    // a request's body came too slowly
  std::uint64_t address_limit = 0;   // newer half-open ones of the same address needed the place
  std::uint64_t made_room = 0;       // every place was taken, or every file descriptor
  // Times that a connection could not be accepted.
  std::uint64_t out_of_descriptors = 0;
  // gRPC's unfinished messages and header blocks, now, and their limit.
  std::uint64_t held_bytes = 0, memory_max = 0;
  // Closed, because
  std::uint64_t header_block = 0;  // a header block was too long
  std::uint64_t before_token = 0;  // they sent too much before a token
  std::uint64_t memory = 0;        // they held most when all together held too much
};

}  // namespace muster
