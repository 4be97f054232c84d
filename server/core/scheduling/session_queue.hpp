// The waiting closures of one session, both queued and deferred. Used only on the engine thread.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "server/core/records/closure_table.hpp"
#include "server/core/scheduling/ring.hpp"

namespace muster::core {

/// The queued closures of one function, priority and requirement, in schedule order.
struct closure_queue {
  function_id function{};
  std::int32_t priority = 0;
  std::uint32_t requirement = 0;  // number in the requirement_table, or 0 without a requirement
  bool single = false;         // closures need resources, so each can change which workers qualify
  std::uint32_t deferred = 0;  // closures that join this queue when their deferral ends
  slot_list queue;

  bool waits() const { return queue.size > 0 || deferred > 0; }
};

struct session_queue {
  session_id id{};  // the core's own sessions have the highest ids
  std::uint32_t weight = 1;
  std::uint32_t turns_left = 1;
  std::vector<closure_queue> queues;  // newest last
  using queue_key = std::tuple<function_id, std::int32_t, std::uint32_t>;
  std::map<queue_key, std::uint32_t> queue_of;
  slot_list deferred;
  std::vector<ring_link<session_queue>> turns;
};

}  // namespace muster::core
