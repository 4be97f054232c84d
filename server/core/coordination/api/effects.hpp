// What comes out: replies to calls, and log events for people. Plain data, valid until the next
// step.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/core/api/blob.hpp"
#include "server/core/api/time.hpp"
#include "server/core/coordination/api/changes.hpp"
#include "server/core/coordination/api/fault.hpp"

namespace muster::core::coordination {

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

enum class severity : std::uint8_t { info, warning, error };

enum class log_event_kind : std::uint8_t {
  generation_started,  ///< its first task has registered
  generation_failed,   ///< an error was told to everybody
  generation_ended,    ///< everybody has left
  cluster_ready,       ///< all tasks have registered
  cluster_changed,     ///< it was declared anew
  task_error,          ///< and not as a consequence of another's
  task_restarted,      ///< a new process has taken its place
  task_left,
  barrier_failed,
  barriers_failed,  ///< more of them at the same moment than are told one by one
  barrier_stuck,    ///< somebody has been waiting there for long
  notice_unheard,   ///< tasks that do not hear of a preemption any more
};
std::string_view name(log_event_kind);  // "barrier_failed"

/// Something that people should learn of: a line in the log and in the feed of events.
struct log_event {
  coordination::severity severity = coordination::severity::info;
  log_event_kind kind{};
  std::string cluster;  ///< its name
  std::string about;    ///< the task or barrier, may be empty
  std::string text;
};

struct effects {
  std::vector<reply> replies;
  std::vector<log_event> log_events;
  std::vector<fact> facts;        ///< where steps are journalled; see facts.hpp
  coordination::changes changes;  ///< for readers: nobody waits for them
  status declared;                ///< what came of create_, redeclare_ or remove_cluster
  cluster_id cluster{};           ///< that was created
  void clear() {
    replies.clear();
    log_events.clear();
    facts.clear();
    changes.clear();
    declared.code = code::ok;  // nearly always it is that already, and the text empty
    declared.message.clear();
    cluster = {};
  }
};

}  // namespace muster::core::coordination
