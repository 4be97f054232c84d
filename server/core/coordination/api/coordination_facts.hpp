// Records from which the coordination core is restored. A record contains the state of an object
// after a step, and replaces earlier records of the object. Clusters are identified by name, tasks
// by index. Waiting calls, addresses and devices are not recorded, because reconnecting clients
// provide them again.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/core/api/blob.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"
#include "server/core/coordination/api/fault.hpp"

namespace muster::core::coordination {

enum class agent_state : std::uint8_t {
  disconnected = 2,  // numbers used in the wire protocol
  connected = 3,
  error = 4,
};

struct cluster_fact {
  cluster_spec spec;
  std::optional<cluster_spec> next{};
  std::uint64_t generation = 0;
  core::incarnation incarnation{};
  time_point started{};
  time_point ended{};
  bool failed = false;
  bool refuses = false;
  std::optional<first_cause> cause{};
  task_index cause_task = no_task;
  std::vector<task_index> victims{};
  fault_ptr broadcast{};
  /// Port for the cluster's agents. 0 means the main port or an unassigned port.
  std::uint16_t port = 0;
  /// Discards all earlier records of the cluster's tasks, keys and barriers.
  bool anew = false;
};

struct task_fact {
  task_index task = no_task;
  agent_state state = agent_state::disconnected;
  bool recoverable = false;
  bool casualty = false;
  bool ever_connected = false;
  core::incarnation incarnation{};
  fault_ptr error{};
  time_point registered_at{};
  time_point grace_until{};  ///< time until which heartbeats are accepted after the task has left
  bool hears_notices = false;

  bool operator==(task_fact const&) const = default;
};

/// If `value` is empty, the key was deleted.
struct key_fact {
  std::string key;
  std::optional<blob> value{};
  time_point changed{};

  bool operator==(key_fact const&) const = default;
};

/// A finished barrier. `counter` is the number of the barrier's next use.
struct barrier_fact {
  std::string id;
  bool forgotten = false;  ///< if true, only the id is set
  std::int64_t counter = 0;
  std::uint8_t purpose = 0;
  std::optional<std::vector<task_index>> who{};  ///< if empty, all tasks of the cluster
  fault_ptr result{};
  fault_ptr result_before{};
  time_point ended{};
};

struct cluster_record_removed {};

struct fact {
  std::string cluster;
  std::variant<cluster_fact, task_fact, key_fact, barrier_fact, cluster_record_removed> what;
};

struct restored_cluster {
  cluster_fact cluster;
  std::vector<task_fact> tasks;
  std::vector<key_fact> keys;
  std::vector<barrier_fact> barriers;  ///< ordered by the time when the barriers finished
};

}  // namespace muster::core::coordination
