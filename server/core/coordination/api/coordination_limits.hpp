// All limits of the coordination service, and what happens at each limit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/core/api/time.hpp"

namespace muster::core::coordination {

struct limits {
  /// Maximum number of clusters. Further clusters are refused.
  std::size_t clusters_max = 1'000;
  /// Maximum number of tasks of one cluster. Larger declarations are refused.
  std::uint32_t tasks_max = 100'000;
  /// Maximum number of parked calls of one cluster: about three per task, plus waits for keys. At
  /// the limit, calls fail immediately with RESOURCE_EXHAUSTED.
  std::size_t parked_calls_max = 1'000'000;
  /// Maximum number of running barriers of one cluster. At the limit, a call that would start
  /// another barrier is refused.
  std::size_t barriers_max = 100'000;
  /// Maximum number of finished barriers kept for late callers and counters. At the limit, the
  /// oldest barrier is removed. The counters of later calls with the removed barrier's id are not
  /// checked.
  std::size_t finished_barriers_max = 20'000;
  std::size_t barrier_id_bytes_max = 4'096;
  /// Maximum key length. Longer keys are refused.
  std::size_t key_bytes_max = 65'536;
  /// Maximum number and total size of one cluster's keys and values. At the limit, inserts are
  /// refused.
  std::size_t keys_max = 10'000'000;
  std::size_t value_bytes_max = std::size_t{8} << 30;
  /// Maximum size of one task's device descriptions. Larger descriptions are refused.
  std::size_t device_bytes_max = 16u << 20;
  /// Limits of device names in views of a task. Names above the first limit are dropped; names
  /// above the second limit are truncated.
  std::size_t device_names_max = 16;
  std::size_t device_name_bytes_max = 128;

  /// Task-state changes within this interval are sent to watchers together. The first change after
  /// an interval is sent immediately if at most `few_watchers` calls wait, and otherwise after one
  /// interval.
  duration watch_interval = std::chrono::milliseconds(5);
  std::size_t few_watchers = 256;
  /// A parked call is answered before its caller's deadline. The margin is a twentieth of the
  /// remaining time, within these bounds.
  duration answer_margin_min = std::chrono::milliseconds(50);
  duration answer_margin_max = std::chrono::seconds(1);
  /// A tick that is later than this shows that the server was stalled. The lost time is added to
  /// all heartbeat timeouts.
  duration stall_grace = std::chrono::seconds(1);
  /// Whether steps produce records for a restart.
  bool journalled = false;
  /// Whether another process takes over the sockets and state when this process exits, so that
  /// agents survive.
  bool outlives = false;
};

}  // namespace muster::core::coordination
