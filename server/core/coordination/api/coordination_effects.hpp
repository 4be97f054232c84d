// What comes out: replies to calls, and changes. Plain data, valid until the next step.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/blob.hpp"
#include "server/core/api/time.hpp"
#include "server/core/coordination/api/coordination_changes.hpp"
#include "server/core/coordination/api/fault.hpp"

namespace muster::core::coordination {

using muster::name;

struct task_status {
  task_index task = no_task;
  agent_state state = agent_state::disconnected;
  core::incarnation incarnation{};
  fault_ptr error;
};

/// One version of a roll, shared by all who watch it: encode it once, the pointer is its identity.
struct task_states {
  std::vector<task_status> tasks;  ///< in order of index
  std::int64_t version = 0;
};

struct alive_tasks {
  std::vector<task_index> tasks;
  std::vector<core::incarnation> incarnations;  ///< parallel to `tasks`
};

using key_value = std::pair<std::string, blob>;

struct reply {
  call_id call{};
  fault_ptr fault;                 ///< null: OK, and the body is what the call asked for
  std::variant<std::monostate,     // nothing more to say
               core::incarnation,  // register_task, heartbeat: the service's
               std::shared_ptr<task_states const>,  // get_task_state, watch_tasks
               key_value,                           // get_, increment_key_value: key as requested
               std::vector<key_value>,              // get_key_value_dir
               std::int64_t,                        // enter_barrier: its counter
               std::shared_ptr<alive_tasks const>,  // get_alive_tasks
               std::shared_ptr<std::vector<blob> const>>  // wait_for_all_tasks
      body;
};

/// Of a line in the log and in the feed of events.
enum class severity : std::uint8_t { info = 0, warning = 1, error = 2 };
constexpr auto enum_names(severity) {
  using enum severity;
  return enumerators<severity>(info, "INFO", warning, "WARNING", error, "ERROR");
}

struct effects {
  std::vector<reply> replies;
  std::vector<fact> facts;        ///< where steps are journalled; see coordination_facts.hpp
  coordination::changes changes;  ///< for readers: nobody waits for them
  status declared;                ///< what came of create_, redeclare_ or remove_cluster
  cluster_id cluster{};           ///< that was created
  void clear() {
    replies.clear();
    facts.clear();
    changes.clear();
    declared.code = code::ok;  // nearly always it is that already, and the text empty
    declared.message.clear();
    cluster = {};
  }
};

}  // namespace muster::core::coordination
