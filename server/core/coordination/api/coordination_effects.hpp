// Output of the coordination core: replies and changes. Valid until the next step.
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

/// Task states at one version, shared by all watchers, so that each object is encoded only once.
struct task_states {
  std::vector<task_status> tasks;
  std::int64_t version = 0;
};

struct alive_tasks {
  std::vector<task_index> tasks;
  std::vector<core::incarnation> incarnations;  ///< in the order of `tasks`
};

using key_value = std::pair<std::string, blob>;

struct reply {
  call_id call{};
  fault_ptr fault;
  std::variant<std::monostate,
               core::incarnation,  // incarnation of the service (register_task, heartbeat)
               std::shared_ptr<task_states const>,  // get_task_state, watch_tasks
               key_value,               // key as requested (get_key_value, increment_key_value)
               std::vector<key_value>,  // get_key_value_dir
               std::int64_t,            // counter of the barrier (enter_barrier)
               std::shared_ptr<alive_tasks const>,
               std::shared_ptr<std::vector<blob> const>>  // wait_for_all_tasks
      body;
};

enum class severity : std::uint8_t { info = 0, warning = 1, error = 2 };
constexpr auto enum_names(severity) {
  using enum severity;
  return enumerators<severity>(info, "INFO", warning, "WARNING", error, "ERROR");
}

struct effects {
  std::vector<reply> replies;
  std::vector<fact> facts;  ///< filled only if limits::journalled is set
  coordination::changes changes;
  status declared;  ///< result of create_cluster, redeclare_cluster or remove_cluster
  cluster_id cluster{};
  void clear() {
    replies.clear();
    facts.clear();
    changes.clear();
    declared.code = code::ok;
    declared.message.clear();
    cluster = {};
  }
};

}  // namespace muster::core::coordination
