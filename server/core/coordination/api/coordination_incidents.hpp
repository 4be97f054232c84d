// What happened in a cluster that people should learn of and that no other change says whole, as
// data: listeners decide what is told of it, and in which words.
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
  std::string task;  ///< the first that has registered
};

/// An error was told to everybody.
struct generation_failed {
  std::uint64_t number = 0;
  fault_ptr why;
};

/// Everybody has left.
struct generation_ended {
  std::uint64_t number = 0;
};

/// All tasks have registered.
struct cluster_ready {
  std::size_t tasks = 0;
};

enum class takes_effect : std::uint8_t {
  as_it_is,  ///< the current generation has it
  at_once,
  never,  ///< not while the cluster stands, as it does not renew itself
  with_new_generation,
  with_next_generation,
};

/// It was declared anew.
struct cluster_changed {
  std::vector<job_spec> from;
  std::vector<job_spec> to;
  takes_effect when{};
};

/// And not as a consequence of another's.
struct task_failed {
  std::string task;
  fault_ptr why;
};

/// A new process has taken its place.
struct task_restarted {
  std::string task;
};

struct task_left {
  std::string task;
};

/// A user's.
struct barrier_failed {
  std::string id;
  fault_ptr why;
};

/// Somebody has been waiting there for long.
struct barrier_stuck {
  std::string id;
  std::size_t arrived = 0;
  std::size_t participants = 0;
  std::string missing;  ///< as its callers are told
};

/// Tasks do not hear of a preemption any more.
struct notice_unheard {
  std::string task;   ///< empty: several
  std::string tasks;  ///< "/job:worker/task:0-2"
  bool set = false;   ///< and there is one
};

/// It listens at another port than before: agents that have dialled the former do not reach it.
struct port_changed {
  std::uint16_t from = 0, to = 0;
};

}  // namespace incidents

struct incident {
  std::string cluster;  ///< its name
  std::variant<incidents::generation_started, incidents::generation_failed,
               incidents::generation_ended, incidents::cluster_ready, incidents::cluster_changed,
               incidents::task_failed, incidents::task_restarted, incidents::task_left,
               incidents::barrier_failed, incidents::barrier_stuck, incidents::notice_unheard,
               incidents::port_changed>
      what;
};

}  // namespace muster::core::coordination
