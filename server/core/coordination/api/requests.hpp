// Calls to the coordination service. The hub resolves task names to indices and sets `caller`. Each
// call is answered exactly once unless `call_abandoned` arrives first.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/core/api/blob.hpp"
#include "server/core/api/time.hpp"
#include "server/core/coordination/api/fault.hpp"

namespace muster::core::coordination {

struct caller {
  call_id call{};
  /// Parked calls are answered shortly before this time.
  time_point deadline = never;
  /// The service incarnation that the caller expects; set only by XLA's protocol.
  std::optional<core::incarnation> service = {};
  /// Peer address of the connection, such as "10.0.0.3:4711"; empty if unknown. Most TensorFlow
  /// calls contain no incarnation, so the address identifies a process of an earlier generation.
  std::string peer = {};
  /// The calling process; zero if unknown. XLA's protocol sets this field in every call except the
  /// registration.
  core::incarnation process = {};
};

/// A task named by a request. If the task is not in the cluster, `index` is `no_task`, and `name`
/// is the requested name.
struct task_ref {
  task_index index = no_task;
  std::string name;
};

/// Returns the tasks that are in the cluster, in ascending order without duplicates.
inline std::vector<task_index> indices_of(std::vector<task_ref> const& tasks) {
  std::vector<task_index> found;
  found.reserve(tasks.size());
  for (auto const& t : tasks)
    if (t.index != no_task) found.push_back(t.index);
  if (!std::is_sorted(found.begin(), found.end())) std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

struct register_task {
  caller from;
  task_ref task;
  core::incarnation incarnation{};
  bool recoverable = false;
  std::string peer;
};

struct heartbeat {
  caller from;
  task_ref task;
  core::incarnation incarnation{};
};

struct shutdown_task {
  caller from;
  task_ref task;
};

struct reset_task {
  caller from;
  task_ref task;
};

struct report_error {
  caller from;
  task_ref task;
  muster::code code = muster::code::unknown;
  std::string message;
};

struct poll_for_error {
  caller from;
  task_ref task;
};

/// Answered when all tasks have called, with the devices of all tasks in task order.
struct wait_for_all_tasks {
  caller from;
  task_ref task;
  std::vector<blob> devices;  ///< encoded descriptions, not interpreted
  /// Display names of devices, if any; views keep device_names_max names.
  std::vector<std::string> names = {};
};

struct get_task_state {
  caller from;
  std::vector<task_ref> tasks;
};

struct watch_tasks {
  caller from;
  /// Index in cluster_spec::jobs. If not set, the request selects all tasks.
  std::optional<std::size_t> job;
  /// Answered once the version differs, or immediately if `version` is negative or `at_once` is
  /// set.
  std::int64_t version = -1;
  bool at_once = false;
};

struct insert_key_value {
  caller from;
  std::string key;
  blob value;
  bool overwrite = false;
  /// Whether the caller is a visitor. Visitors have no agent that refuses calls after a failed run,
  /// so the service refuses the call with FAILED_PRECONDITION.
  bool visits = false;
};

struct get_key_value {
  caller from;
  std::string key;
  bool wait = true;  ///< if false, the call fails with NOT_FOUND when the key is missing
  /// Set if the waiting task is known.
  core::incarnation incarnation{};
  std::string peer;
};

struct increment_key_value {
  caller from;
  std::string key;
  std::int64_t increment = 0;
};

struct get_key_value_dir {
  caller from;
  std::string directory;
};

struct delete_key_value {
  caller from;
  std::string key;
  bool visits = false;
};

struct enter_barrier {
  caller from;
  std::string id;
  std::int64_t counter = 0;
  duration timeout{};
  task_ref task;
  std::vector<task_ref> participants;  ///< if empty, all tasks of the cluster
  /// Whether the caller is a visitor without an agent. A visitor joins the current use of the
  /// barrier. A timeout or error of a visitor affects only the visitor. If only visitors have
  /// arrived, the use is discarded when all of them have left.
  bool visits = false;
};

struct cancel_barrier {
  caller from;
  std::string id;
  /// Operators can leave this unset to select the running instance.
  std::optional<std::int64_t> counter;
};

struct get_alive_tasks {
  caller from;
  task_ref task;
  std::vector<task_ref> tasks;
};

using request =
    std::variant<register_task, heartbeat, shutdown_task, reset_task, report_error, poll_for_error,
                 wait_for_all_tasks, get_task_state, watch_tasks, insert_key_value, get_key_value,
                 increment_key_value, get_key_value_dir, delete_key_value, enter_barrier,
                 cancel_barrier, get_alive_tasks>;

}  // namespace muster::core::coordination
