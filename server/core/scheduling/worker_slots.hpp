// A worker as the scheduler sees it. A held closure either runs in a slot or is prefetched. Workers
// start closures in order of arrival, so the oldest prefetched closure is assumed to run when a
// slot becomes free; a worker's reports can correct that assumption.
//
// `window` is the number of closures that the worker may hold now, between its slots and its
// credits. The window doubles while closures are answered quickly; otherwise it is halved. Long
// closures thus wait in the shared queue, where any worker can take them, and short closures keep
// the stream full.
//
// A closure that waits for another closure's value yields its slot, so the worker temporarily has
// one more slot, up to its credits. When such a closure continues, more closures than slots can run
// for a while. Waiting for a free slot could cause a deadlock, because the closure in that slot may
// need a lock that the waiting closure holds.
//
// A full worker is refilled when half of its window has been answered: refilling after each answer
// would keep batches small. Used only on the engine thread.
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
  none,
  idle,  ///< has an idle slot: served first, one closure per turn
  prefetch,
};

using resource_amounts = std::vector<std::pair<std::string, std::uint32_t>>;

struct worker_slots {
  stream_id stream{};
  worker_number number{};
  std::string job;
  std::int64_t index = 0;
  std::vector<std::pair<std::string, std::string>> labels;
  resource_amounts resources;
  std::uint32_t slots = 1;  // the worker's own slots, plus one per closure that waits for a value
  std::uint32_t credits = 1;
  std::uint32_t window = 1;
  std::uint32_t yielded = 0;  // number of `running` closures that wait for values
  bool open = true;           // not draining, not disconnected, and not waiting for its start
  // True if stateful: the worker accepts only closures that select it explicitly.
  bool by_name_only = false;
  std::uint8_t shut = 0;    // reasons why the worker gets no turns: a combination of the bits below
  bool idle_noted = false;  // had an idle slot at note_idle(), and received no closure afterwards
  slot_list running;
  slot_list prefetched;  // sent but not started, oldest first
  resource_amounts free;
  resource_amounts lent;
  std::vector<per_worker_id> built;  // sorted
  std::vector<std::uint32_t> satisfied;
  placement_class* placed = nullptr;

  readiness ready = readiness::none;
  ring_link<worker_slots> turn;

  static constexpr std::uint8_t for_gang = 1;
  static constexpr std::uint8_t reserved_for_exclusive = 2;
  static constexpr std::uint8_t runs_exclusive = 4;

  readiness wanted() const {
    if (!open || shut != 0) return readiness::none;
    if (held() < slots) return readiness::idle;
    if (yielded > 0) return readiness::none;  // the awaited closure must come first
    auto const refill_at = ready == readiness::none ? window / 2 : window - 1;
    return held() <= refill_at ? readiness::prefetch : readiness::none;
  }
  std::uint32_t held() const { return running.size + prefetched.size; }
  slot newest() const { return prefetched.size > 0 ? prefetched.back : running.back; }
  std::uint32_t own_slots() const { return slots - yielded; }
  bool may_yield() const { return slots < credits; }
  void grow() { window = std::min(window * 2, credits); }
  void shrink() { window = std::max(window / 2, slots); }
};

}  // namespace muster::core
