// Copies of the coordination service's state for REST, the dashboard and the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/blob.hpp"
#include "server/core/coordination/api/coordination_changes.hpp"
#include "server/core/coordination/api/coordination_effects.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::core::coordination {

using muster::name;

enum class generation_state : std::uint8_t {
  waiting = 0,
  registering = 1,
  running = 2,
  failed = 3,
  finished = 4,
};
constexpr auto enum_names(generation_state) {
  using enum generation_state;
  return enumerators<generation_state>(waiting, "WAITING", registering, "REGISTERING", running,
                                       "RUNNING", failed, "FAILED", finished, "FINISHED");
}

enum class agent_health : std::uint8_t {
  missing = 0,
  registering = 1,
  connected = 2,
  late = 3,  ///< alive, but its heartbeat is overdue or it delays a barrier
  error = 4,
  disconnected = 5,
};
constexpr auto enum_names(agent_health) {
  using enum agent_health;
  return enumerators<agent_health>(missing, "MISSING", registering, "REGISTERING", connected,
                                   "CONNECTED", late, "LATE", error, "ERROR", disconnected,
                                   "DISCONNECTED");
}

struct agent_view {
  task_index task = no_task;
  std::string job;
  std::uint32_t index = 0;  ///< index within the role
  agent_health health = agent_health::missing;
  core::incarnation incarnation{};
  std::string peer;  ///< empty if unknown
  bool recoverable = false;
  time_point registered_at{};   ///< the epoch if the task never registered
  time_point last_heartbeat{};  ///< the epoch if no heartbeat arrived
  /// Whether the task was restored after a server restart and has been silent since.
  bool unheard = false;
  std::size_t devices = 0;
  std::vector<std::string> device_names;
  fault_ptr error;
  bool casualty = false;
  /// For a task that is LATE for a barrier, the barrier's id and the time when the first task began
  /// to wait there.
  std::string late_for;
  time_point late_since{};
  /// At most 8 barriers and keys, such as "barrier step_12" or "key a/b".
  std::vector<std::string> waiting_for;
  /// Start of the oldest of these waits, or `never`.
  time_point waits_since = never;
};

struct missing_task {
  task_index task = no_task;
  std::string name;
  std::string peer;             ///< empty if the task never registered
  time_point last_heartbeat{};  ///< the epoch if no heartbeat arrived
};

struct arrived_task {
  std::string name;
  time_point came{};
};

enum class barrier_state : std::uint8_t { running = 0, passed = 1, failed = 2 };
constexpr auto enum_names(barrier_state) {
  using enum barrier_state;
  return enumerators<barrier_state>(running, "RUNNING", passed, "PASSED", failed, "FAILED");
}

struct barrier_view {
  std::string id;
  barrier_purpose purpose = barrier_purpose::user;
  std::int64_t counter = 0;
  barrier_state state = barrier_state::running;
  fault_ptr fault;
  time_point started{};
  time_point deadline = never;
  time_point ended{};  ///< the epoch while the barrier is running
  std::size_t participants = 0;
  std::size_t arrived_count = 0;
  std::string first;
  /// Set only in the view of a single running barrier. Has the order of `participants`.
  std::vector<arrived_task> arrived;
  std::vector<missing_task> missing;
};

struct key_view {
  std::string key;
  blob value;
  time_point changed{};
};

struct key_wait_view {
  std::string key;
  struct waiter {
    std::string task;  ///< task name, or the caller's address if unknown
    time_point since{};
    time_point deadline = never;
  };
  std::vector<waiter> waiters;  ///< at most 100
  std::size_t count = 0;
};

struct generation_view {
  std::uint64_t number = 0;
  core::incarnation incarnation{};
  generation_state state = generation_state::waiting;
  time_point started{};  ///< time of the first registration; the epoch if there was none
  time_point ended{};    ///< the epoch if the generation has not ended
  std::optional<first_cause> cause;
  std::array<std::size_t, 6> by_health{};  ///< number of tasks by agent_health
  std::size_t unheard = 0;                 ///< connected tasks with agent_view::unheard
  std::size_t barriers_running = 0;
  std::size_t barriers_remembered = 0;
  std::size_t keys = 0;
  std::size_t key_bytes = 0;
  std::size_t parked_polls = 0;
  std::size_t parked_key_waits = 0;
  std::size_t parked_watches = 0;
  std::size_t parked_calls = 0;
};

/// Living tasks that will not receive a preemption notice.
struct unreachable_tasks {
  static constexpr std::size_t first_max = 3;

  std::size_t count = 0;
  std::vector<std::string> first;
  time_point since = never;  ///< time of the first detection
  bool notice_is_set = false;
};

struct cluster_view {
  cluster_spec spec;
  std::optional<cluster_spec> next;
  std::string address;
  generation_view generation;
  std::vector<generation_view> past;  ///< newest first, at most 16
};

}  // namespace muster::core::coordination
