// Every limit of the coordination services, in one place. What happens at a limit is said beside
// it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/core/api/time.hpp"

namespace muster::core::coordination {

struct limits {
  /// Declared clusters. Full: another one is refused.
  std::size_t clusters_max = 1'000;
  /// Tasks of one cluster. More: the declaration is refused.
  std::uint32_t tasks_max = 100'000;
  /// Parked calls of one cluster (about three per task, and key waits). Full: refused at once with
  /// RESOURCE_EXHAUSTED.
  std::size_t parked_calls_max = 1'000'000;
  /// Barriers of one cluster that somebody waits at. Full: the call that would start one more is
  /// refused.
  std::size_t barriers_max = 100'000;
  /// Finished barriers remembered, for stragglers and for counting on. More: the oldest is
  /// forgotten; a later call to its id is taken at its word about the counter.
  std::size_t finished_barriers_max = 20'000;
  std::size_t barrier_id_bytes_max = 4'096;
  /// Longer keys are refused.
  std::size_t key_bytes_max = 65'536;
  /// Keys of one cluster, and the bytes of keys and values. Full: inserts are refused.
  std::size_t keys_max = 10'000'000;
  std::size_t value_bytes_max = std::size_t{8} << 30;
  /// Bytes of device descriptions one task may bring. More: refused.
  std::size_t device_bytes_max = 16u << 20;
  /// Names of devices kept for views of one task, and the bytes of each. More: the first ones, and
  /// their beginnings.
  std::size_t device_names_max = 16;
  std::size_t device_name_bytes_max = 128;

  /// Changes of task states within this time reach watchers as one. The first change after such a
  /// time is told at once when no more than these wait, when more do it is collected for, too.
  duration watch_interval = std::chrono::milliseconds(5);
  std::size_t few_watchers = 256;
  /// A parked call is answered this long before its caller's own deadline: a twentieth of the time
  /// it had, between these.
  duration answer_margin_min = std::chrono::milliseconds(50);
  duration answer_margin_max = std::chrono::seconds(1);
  /// A tick that comes later than this was our own stall: every task gets the lost time back.
  duration stall_grace = std::chrono::seconds(1);
  /// Whether steps say facts, for a restart; see coordination_facts.hpp.
  bool journalled = false;
  /// Whether another process takes over the sockets and what was said when this one ends; then
  /// agents may live on.
  bool outlives = false;
};

}  // namespace muster::core::coordination
