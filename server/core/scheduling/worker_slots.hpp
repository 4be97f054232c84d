// A worker as the scheduler sees it: what it can run, what it holds, how much it may be sent.
//
// What it holds, a slot of it works on, or it was prefetched and waits there. Which, its worker
// need not say: it starts them in the order in which they came, so the oldest of those prefetched
// runs when a slot is free. A worker may correct that by what it reports.
//
// `window` is how many closures it may hold just now: between its slots and its credits, doubled
// while closures come back quickly and halved when they do not. So long closures wait in the shared
// queue, where any worker can take them, and short ones keep the stream full.
//
// A closure that waits for the value of another gives its slot back: as long as it does, the worker
// has a slot more, within its credits. What it has of resources it keeps. When it goes on, more may
// run for a while than there are slots: a wait that ended only where a slot is free could last for
// ever, since what has the slot may want a lock that the closure holds.
//
// A worker that was filled is sent more when half of its window is answered: one at a time would
// keep the batches as small as they happened to be, a half keeps it busy and the batches large.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "server/core/records/closure_table.hpp"
#include "server/core/scheduling/ring.hpp"

namespace muster::core {

struct placement_class;

enum class readiness : std::uint8_t {
  none,      ///< full, shut, or not open
  idle,      ///< has an idle slot: served first, one closure a turn
  prefetch,  ///< may be sent more than it can run at once
};

using resource_amounts = std::vector<std::pair<std::string, std::uint32_t>>;

struct worker_slots {
  stream_id stream{};
  worker_number number{};
  std::string job;  // of its task
  std::int64_t index = 0;
  std::vector<std::pair<std::string, std::string>> labels;
  resource_amounts resources;  // in all
  std::uint32_t slots = 1;     // its own, and one for each closure that waits
  std::uint32_t credits = 1;
  std::uint32_t window = 1;
  std::uint32_t yielded = 0;         // how many of `running` wait for values
  bool open = true;                  // neither draining, away nor waiting for its start
  bool by_name_only = false;         // its job holds state: only what names it goes there
  std::uint8_t shut = 0;             // why it gets nothing in turns: bits, see below
  bool idle_noted = false;           // it had an idle slot when last looked for, and got nothing
  slot_list running;                 // closures that its slots work on, oldest first
  slot_list prefetched;              // sent and not started, oldest first
  resource_amounts free;             // of its resources
  resource_amounts lent;             // those that ranks of programs have, or that wait for them
  std::vector<per_worker_id> built;  // PerWorkerValues that it has, sorted
  std::vector<std::uint32_t> satisfied;  // requirements, by number
  placement_class* placed = nullptr;     // null: it has retired

  readiness ready = readiness::none;
  ring_link<worker_slots> turn;

  static constexpr std::uint8_t for_gang = 1;       // a gang needs it as soon as it is idle
  static constexpr std::uint8_t for_exclusive = 2;  // so does a closure that runs alone
  static constexpr std::uint8_t by_exclusive = 4;   // what it holds runs alone

  readiness wanted() const {
    if (!open || shut != 0) return readiness::none;
    if (held() < slots) return readiness::idle;
    if (yielded > 0) return readiness::none;  // or others would begin before what is waited for
    auto const refill_at = ready == readiness::none ? window / 2 : window - 1;
    return held() <= refill_at ? readiness::prefetch : readiness::none;
  }
  std::uint32_t held() const { return running.size + prefetched.size; }
  slot newest() const { return prefetched.size > 0 ? prefetched.back : running.back; }
  std::uint32_t own_slots() const { return slots - yielded; }
  /// Whether one more may wait.
  bool may_yield() const { return slots < credits; }
  void grow() { window = std::min(window * 2, credits); }
  void shrink() { window = std::max(window / 2, slots); }
};

}  // namespace muster::core
