// What a restart must know of the coordination core: what each step changed, as data to be written
// down, and the same data to begin again with. A fact replaces what was said of the same thing
// before. Facts name clusters by name and tasks by index. A step's facts are derived from its
// changes: the last word on what they touch.
//
// Not among them, since it follows from those who come back: who waits, addresses, devices.
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
  disconnected = 2,  // the numbers on the wire
  connected = 3,
  error = 4,
};

/// Its declaration, and the generation that runs.
struct cluster_fact {
  cluster_spec spec;
  std::optional<cluster_spec> next{};  ///< declared since
  std::uint64_t generation = 0;
  core::incarnation incarnation{};
  time_point started{};
  time_point ended{};
  bool failed = false;
  bool refuses = false;  ///< see fail_cluster
  std::optional<first_cause> cause{};
  task_index cause_task = no_task;
  std::vector<task_index> victims{};
  fault_ptr broadcast{};
  std::uint16_t port = 0;  ///< its agents dial it; 0: the main port, or none yet
  /// Of its tasks, keys and barriers nothing holds that was said before.
  bool anew = false;
};

struct task_fact {
  task_index task = no_task;
  agent_state state = agent_state::disconnected;
  bool recoverable = false;  ///< its own word, or its job's or the cluster's
  bool casualty = false;     ///< its error followed from another's
  bool ever_connected = false;
  core::incarnation incarnation{};
  fault_ptr error{};
  time_point registered_at{};
  time_point grace_until{};    ///< heartbeats after leaving are no error until then
  bool hears_notices = false;  ///< it has waited for the notice of a preemption

  bool operator==(task_fact const&) const = default;
};

/// Without a value the key is gone.
struct key_fact {
  std::string key;
  std::optional<blob> value{};
  time_point changed{};

  bool operator==(key_fact const&) const = default;
};

/// Of one that has ended: how the next use of the id counts, and what late callers are told.
struct barrier_fact {
  std::string id;
  bool forgotten = false;  ///< then nothing else counts
  std::int64_t counter = 0;
  std::uint8_t purpose = 0;                      ///< see barrier_purpose
  std::optional<std::vector<task_index>> who{};  ///< none: the whole cluster
  fault_ptr result{};
  fault_ptr result_before{};
  time_point ended{};
};

/// It was removed, with all that was said of it.
struct cluster_gone {};

struct fact {
  std::string cluster;
  std::variant<cluster_fact, task_fact, key_fact, barrier_fact, cluster_gone> what;
};

/// All that is known of a cluster.
struct restored_cluster {
  cluster_fact cluster;
  std::vector<task_fact> tasks;
  std::vector<key_fact> keys;
  std::vector<barrier_fact> barriers;  ///< by when they ended, the oldest first
};

}  // namespace muster::core::coordination
