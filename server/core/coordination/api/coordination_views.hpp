// Copies of the coordination services' state for readers: REST, dashboard, command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/blob.hpp"
#include "server/core/coordination/api/coordination_effects.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::core::coordination {

using muster::name;

enum class generation_state : std::uint8_t {
  waiting = 0,      ///< nobody has registered yet
  registering = 1,  ///< some tasks are there, others are awaited
  running = 2,
  failed = 3,    ///< an error was told to everybody
  finished = 4,  ///< everybody has left
};
constexpr auto enum_names(generation_state) {
  using enum generation_state;
  return enumerators<generation_state>(waiting, "WAITING", registering, "REGISTERING", running,
                                       "RUNNING", failed, "FAILED", finished, "FINISHED");
}

/// How one task looks to people; finer than the wire's states.
enum class agent_health : std::uint8_t {
  missing = 0,      ///< never registered in this generation
  registering = 1,  ///< its registration waits for the others
  connected = 2,
  late = 3,          ///< beats, but others wait for it at a barrier; or its heartbeat is overdue
  error = 4,         ///< in error
  disconnected = 5,  ///< left, or was reset
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
  std::uint32_t index = 0;  ///< within the job
  agent_health health = agent_health::missing;
  core::incarnation incarnation{};
  std::string peer;  ///< address of its connection, empty when unknown
  bool recoverable = false;
  time_point registered_at{};   ///< zero: never
  time_point last_heartbeat{};  ///< zero: never
  /// Known from before a restart of the server, and not heard of since.
  bool unheard = false;
  std::size_t devices = 0;
  std::vector<std::string> device_names;  ///< of the first that have one
  fault_ptr error;
  /// True: its error is a consequence of another task's.
  bool casualty = false;
  /// Set when LATE for a barrier: its id and since when the first waits there.
  std::string late_for;
  time_point late_since{};
  /// Barriers and keys it waits for now, at most 8: "barrier step_12", "key a/b".
  std::vector<std::string> waiting_for;
  /// Since when it waits for the first of them; never: for nothing.
  time_point waits_since = never;
};

struct missing_task {
  task_index task = no_task;
  std::string name;
  std::string peer;             ///< empty when it never registered
  time_point last_heartbeat{};  ///< zero: never heard of
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
  std::int64_t counter = 0;
  barrier_state state = barrier_state::running;
  fault_ptr fault;  ///< of a failed one
  time_point started{};
  time_point deadline = never;
  time_point ended{};  ///< zero while running
  std::size_t participants = 0;
  std::size_t arrived_count = 0;
  std::string first;  ///< name of the task that came first
  /// Set only in the view of one running barrier, in the order of the participants.
  std::vector<arrived_task> arrived;
  std::vector<missing_task> missing;  ///< the same
};

struct key_view {
  std::string key;
  blob value;
  time_point changed{};
};

struct key_wait_view {
  std::string key;
  struct waiter {
    std::string task;  ///< its name, or its address when the task is not known
    time_point since{};
    time_point deadline = never;
  };
  std::vector<waiter> waiters;  ///< at most 100
  std::size_t count = 0;
};

struct generation_view {
  std::uint64_t number = 0;  ///< 1 for the first of the cluster
  core::incarnation incarnation{};
  generation_state state = generation_state::waiting;
  time_point started{};  ///< first registration; zero: none yet
  time_point ended{};    ///< zero: not yet
  std::optional<first_cause> cause;
  std::array<std::size_t, 6> by_health{};  ///< tasks, by agent_health
  std::size_t unheard = 0;                 ///< of the connected ones: see agent_view
  std::size_t barriers_running = 0;
  std::size_t barriers_remembered = 0;
  std::size_t keys = 0;
  std::size_t key_bytes = 0;
  std::size_t parked_polls = 0;
  std::size_t parked_key_waits = 0;
  std::size_t parked_watches = 0;
  std::size_t parked_calls = 0;  ///< all of them
};

/// Tasks that live and do not hear of a preemption any more.
struct unheard_notices {
  static constexpr std::size_t first_max = 3;

  std::size_t count = 0;
  std::vector<std::string> first;  ///< names of the first of them
  time_point since = never;        ///< the first was found out
  bool notice_is_set = false;
};

struct cluster_view {
  cluster_spec spec;
  std::optional<cluster_spec> next;  ///< declared since; the next generation has it
  std::string address;               ///< of its coordination service, as the shell told
  generation_view generation;
  std::vector<generation_view> past;  ///< newest first, at most 16
};

}  // namespace muster::core::coordination
