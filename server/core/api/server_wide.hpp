// State that all coordinators of a server share: counters that make ids unique, and value budgets.
// Each cluster with closures has a coordinator. Outlives the coordinators. Used only on the engine
// thread.
#pragma once

#include <cstdint>

#include "server/core/api/shared_budget.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

struct server_wide {
  /// Closure slots are assigned in chunks. Each chunk is assigned only once.
  static constexpr std::uint32_t chunk_size = 4096;
  static constexpr std::uint32_t chunks_max = (std::uint64_t{1} << 32) / chunk_size;

  /// Handles of per-worker values are numbered from `start`, because a worker must not accept
  /// handles of a previous server.
  explicit server_wide(time_point start)
      : first_per_worker(static_cast<std::uint64_t>(start.time_since_epoch().count())),
        last_per_worker(first_per_worker),
        last_program(first_per_worker) {}
  server_wide(server_wide const&) = delete;

  std::uint32_t coordinators = 0;
  std::uint32_t chunks = 0;
  // First generation of new slots; makes ids differ from the ids of an earlier process.
  std::uint32_t first_generation = 1;
  std::uint32_t end_generation = 0;  // a slot that reaches this generation is not reused
  std::uint32_t last_row = 0;
  std::uint32_t activity_chunks = 0;  // chunks of activity spans; see activity_log
  std::uint64_t last_session = 0;
  std::uint64_t first_per_worker;
  std::uint64_t last_per_worker;
  std::uint64_t last_program;  // last program id; ids are also counted from `start`
  shared_budget value_bytes, spilled_bytes, row_bytes;
};

}  // namespace muster::core
