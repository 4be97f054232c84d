// A worker as long as its stream lives: what it can run, what it holds, how much it may be sent.
//
// `window` is how many closures it may hold just now: between its slots and its credits, doubled
// while closures come back quickly and halved when they do not. So long closures wait in the shared
// queue, where any worker can take them, and short ones keep the stream full.
//
// A worker that was filled is sent more when half of its window is answered: one at a time would
// keep the batches as small as they happened to be, a half keeps it busy and the batches large.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "server/core/closure_table.hpp"
#include "server/core/ring.hpp"

namespace muster::core {

struct task_row;
struct placement_class;

enum class readiness : std::uint8_t {
  none,   ///< full, draining, away, waiting for its start or gone
  idle,   ///< has an idle slot: served first, one closure a turn
  ahead,  ///< may be sent more than it can run at once
};

struct worker {
  stream_id stream{};
  task_row* task = nullptr;
  placement_class* placed = nullptr;
  std::uint32_t place = 0;
  std::uint32_t slots = 1;
  std::uint32_t credits = 1;
  std::uint32_t window = 1;
  bool draining = false;
  bool reserved = false;  // for a gang that needs it as soon as it is idle
  bool away = false;      // its connection broke; `holds` is what it may be running
  bool waiting = false;   // for its staggered start
  bool counted = false;   // among the workers that have its functions
  time_point away_since{};
  time_point starts_at{};    // waiting: until then
  time_point alarm = never;  // away: when the next closure stops waiting
  slot_list holds;           // closures sent and not answered, oldest first
  std::vector<std::pair<std::string, std::uint32_t>> free;  // of its resources
  std::vector<std::uint32_t> satisfied;                     // requirements, by number
  std::vector<per_worker_id> to_build;                      // in order; sent before other closures

  readiness ready = readiness::none;
  ring_link<worker> turn;

  std::uint32_t outstanding() const { return holds.size; }
  readiness wanted() const {
    if (draining || away || waiting || reserved) return readiness::none;
    if (holds.size < slots) return readiness::idle;
    auto const refill_at = ready == readiness::none ? window / 2 : window - 1;
    return holds.size <= refill_at ? readiness::ahead : readiness::none;
  }
  /// May be sent closures, now or once it has room.
  bool serves() const { return !draining && !away; }
  void grow() { window = std::min(window * 2, credits); }
  void shrink() { window = std::max(window / 2, slots); }
};

}  // namespace muster::core
