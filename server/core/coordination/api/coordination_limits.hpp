// All limits of the coordination services, with what happens at each limit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/core/api/time.hpp"

namespace muster::core::coordination {

struct limits {
  /// Declared clusters. More are refused.
  std::size_t clusters_max = 1'000;
  /// Tasks of one cluster. Larger declarations are refused.
  std::uint32_t tasks_max = 100'000;
  /// Parked calls of one cluster: about three per task, and waits for keys. At the limit calls fail
  /// at once with RESOURCE_EXHAUSTED.
  std::size_t parked_calls_max = 1'000'000;
  /// Running barriers of one cluster. At the limit a call that would start another is refused.
  std::size_t barriers_max = 100'000;
  /// Finished barriers kept for late callers and for counters. At the limit the oldest is
  /// forgotten; the counter of a later call to its id is not checked.
  std::size_t finished_barriers_max = 20'000;
  std::size_t barrier_id_bytes_max = 4'096;
  /// Longer keys are refused.
  std::size_t key_bytes_max = 65'536;
  /// Keys of one cluster, and bytes of its keys and values. At the limit inserts are refused.
  std::size_t keys_max = 10'000'000;
  std::size_t value_bytes_max = std::size_t{8} << 30;
  /// Bytes of one task's device descriptions. More are refused.
  std::size_t device_bytes_max = 16u << 20;
  /// Device names kept for views of a task, and bytes of each. Further names are dropped, longer
  /// names are cut.
  std::size_t device_names_max = 16;
  std::size_t device_name_bytes_max = 128;

  /// Changes of task states within this time are sent to watchers together. The first change after
  /// such an interval is sent at once to at most `few_watchers` waiting calls, and delayed by the
  /// interval for more.
  duration watch_interval = std::chrono::milliseconds(5);
  std::size_t few_watchers = 256;
  /// A parked call is answered before its caller's own deadline, by a twentieth of the remaining
  /// time within these bounds.
  duration answer_margin_min = std::chrono::milliseconds(50);
  duration answer_margin_max = std::chrono::seconds(1);
  /// A tick that is later than this reveals a stall of the server: the lost time is added to all
  /// heartbeat timeouts.
  duration stall_grace = std::chrono::seconds(1);
  /// Whether steps produce records for a restart; see coordination_facts.hpp.
  bool journalled = false;
  /// Whether another process takes over sockets and state when this process ends, so that agents
  /// survive.
  bool outlives = false;
};

}  // namespace muster::core::coordination
