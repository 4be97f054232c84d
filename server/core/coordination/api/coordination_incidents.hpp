// Events that interest users and that no single change describes completely. Listeners select the
// events that they report, and write the messages.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "server/core/coordination/api/declared_cluster.hpp"
#include "server/core/coordination/api/fault.hpp"

namespace muster::core::coordination {

namespace incidents {

struct generation_started {
  std::uint64_t number = 0;
  std::string task;
};

struct generation_failed {
  std::uint64_t number = 0;
  fault_ptr why;
};

struct generation_ended {
  std::uint64_t number = 0;
};

struct cluster_ready {
  std::size_t tasks = 0;
};

enum class takes_effect : std::uint8_t {
  as_it_is,  ///< the declaration is already in force
  at_once,
  never,  ///< the declaration never takes effect, because this cluster does not renew itself
  with_new_generation,
  with_next_generation,
};

struct cluster_changed {
  std::vector<job_spec> from;
  std::vector<job_spec> to;
  takes_effect when{};
};

struct task_failed {
  std::string task;
  fault_ptr why;
};

struct task_restarted {
  std::string task;
};

struct task_left {
  std::string task;
};

struct barrier_failed {
  std::string id;
  fault_ptr why;
};

struct barrier_stuck {
  std::string id;
  std::size_t arrived = 0;
  std::size_t participants = 0;
  std::string missing;
};

struct notice_unheard {
  std::string task;   ///< empty if several tasks are affected
  std::string tasks;  ///< example: "/job:worker/task:0-2"
  bool set = false;
};

/// Agents that use the former port cannot reach the service.
struct port_changed {
  std::uint16_t from = 0, to = 0;
};

}  // namespace incidents

struct incident {
  std::string cluster;
  std::variant<incidents::generation_started, incidents::generation_failed,
               incidents::generation_ended, incidents::cluster_ready, incidents::cluster_changed,
               incidents::task_failed, incidents::task_restarted, incidents::task_left,
               incidents::barrier_failed, incidents::barrier_stuck, incidents::notice_unheard,
               incidents::port_changed>
      what;
};

}  // namespace muster::core::coordination
