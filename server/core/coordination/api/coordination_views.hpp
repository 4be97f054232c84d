// Copies of the coordination services' state for readers: REST, dashboard, command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/core/api/blob.hpp"
#include "server/core/coordination/api/coordination_effects.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::core::coordination {

enum class generation_state : std::uint8_t {
  waiting,      ///< nobody has registered yet
  registering,  ///< some tasks are there, others are awaited
  running,
  failed,    ///< an error was told to everybody
  finished,  ///< everybody has left
};
std::string_view name(
    generation_state);  // "WAITING", "REGISTERING", "RUNNING", "FAILED", "FINISHED"

/// How one task looks to people; finer than the wire's states.
enum class agent_health : std::uint8_t {
  missing,      ///< never registered in this generation
  registering,  ///< its registration waits for the others
  connected,
  late,          ///< beats, but others wait for it at a barrier; or its heartbeat is overdue
  error,         ///< in error
  disconnected,  ///< left, or was reset
};
std::string_view name(agent_health);  // "MISSING", "REGISTERING", "CONNECTED", "LATE", "ERROR", …

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

enum class barrier_state : std::uint8_t { running, passed, failed };
std::string_view name(barrier_state);  // "RUNNING", "PASSED", "FAILED"

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
