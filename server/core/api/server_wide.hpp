// What all coordinators of one server share, one for each cluster with closures: the numbers, so
// that an id tells one thing in the whole server, and the bytes that values may take. Owned by who
// owns the coordinators, and outlives them; engine thread only.
#pragma once

#include <cstdint>

#include "server/core/api/shared_budget.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

struct server_wide {
  /// Closures' slots are given out in chunks, never twice.
  static constexpr std::uint32_t chunk_size = 4096;
  static constexpr std::uint32_t chunks_max = (std::uint64_t{1} << 32) / chunk_size;

  /// Handles of per-worker values begin above the time of the start: workers outlive a server, and
  /// a handle of the one before must not pass for one of this.
  explicit server_wide(time_point start)
      : first_per_worker(static_cast<std::uint64_t>(start.time_since_epoch().count())),
        last_per_worker(first_per_worker),
        last_program(first_per_worker) {}
  server_wide(server_wide const&) = delete;

  std::uint32_t coordinators = 0;
  std::uint32_t chunks = 0;
  std::uint32_t first_generation = 1;  // of slots that are new: ids of an earlier process differ
  std::uint32_t end_generation = 0;  // of the next one's: a slot that comes there is not used again
  std::uint32_t last_row = 0;        // of a task
  std::uint32_t activity_chunks = 0;  // of spans; see activity_log
  std::uint64_t last_session = 0;
  std::uint64_t first_per_worker;
  std::uint64_t last_per_worker;
  std::uint64_t last_program;  // begins above the time of the start for the same reason
  shared_budget value_bytes, spilled_bytes, row_bytes;
};

}  // namespace muster::core
