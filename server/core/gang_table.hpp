// Gangs: closures of one request that start together or not at all.
//
//   forming ──every member is ready──► waiting ──an idle slot for each──► started (forgotten)
//      └────────── a member ended ────────┴──► broken: the others are cancelled
//
// Owned by the coordinator's state. Bounded by the closures, each of which is in one gang at most.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

struct gang {
  std::string name;
  std::size_t size = 0;
  std::vector<closure_id> members;  // in schedule order
  std::size_t ready = 0;            // members that wait for nothing but the others and a worker
  time_point impatient_at = never;  // from then on workers are kept free for it
  bool impatient = false;
};

struct gang_table {
  /// Members of one gang. More: INVALID_ARGUMENT.
  static constexpr std::size_t size_max = 1'024;
  /// How long a gang waits for slots to fall free at one time before others are kept from them.
  static constexpr duration patience = std::chrono::seconds(1);
  /// Waiting gangs that are looked at in a step: the oldest. The others' turn comes.
  static constexpr std::size_t tries_max = 16;

  std::map<std::uint64_t, gang> all;
  std::deque<std::uint64_t> waiting;                         // oldest first
  std::map<std::string, std::uint64_t> forming;              // of the request being scheduled
  std::vector<std::pair<std::uint64_t, closure_id>> broken;  // told at the end of the step
  std::vector<stream_id> reserved;                           // for the oldest
  std::uint64_t last = 0;
};

}  // namespace muster::core
