// Describes missing tasks as text: as many names as fit, and then details of some tasks, starting
// with tasks that have sent messages. Used only on the engine thread.
#pragma once

#include "server/core/coordination/api/declared_cluster.hpp"
#include "server/core/coordination/barriers/barrier.hpp"
#include "server/core/coordination/tasks/task_registry.hpp"

namespace muster::core::coordination {

class task_descriptions {
 public:
  static constexpr std::size_t id_shown = 200;  // maximum bytes of a barrier id in a message

  task_descriptions(cluster_spec const& spec, task_registry const& registry)
      : spec_(spec), registry_(registry) {}

  /// Example: "/job:worker/task:3 (10.0.0.3:4711, last heard of 12.0 s ago)"
  std::string described(task_index t, time_point now) const;
  /// Example: "/job:worker/task:0-2,7". Limited to a kilobyte, followed by the number of further
  /// tasks.
  std::string names(std::vector<task_index> const& tasks) const;
  /// Returns one described() line for each of the first twenty tasks, and the number of further
  /// tasks.
  std::string lines(std::vector<task_index> const& tasks, time_point now) const;
  /// Example: "The cluster's heartbeat_timeout is 4.0 s; /job:worker/task:3 sent a heartbeat every
  /// 50.0 s."
  std::string heartbeats(task_index t) const;
  /// Example: "Missing 2: …". REQUIRES: the barrier is running.
  std::string missing_at(barrier const& b, time_point now) const;
  /// Returns a text such as ". Not connected: …". Cached, because ten thousand callers with the
  /// same deadline need the text.
  std::string const& not_connected();
  static std::string seconds(duration d);

 private:
  std::string ranges(std::vector<task_index> const& tasks, std::size_t bytes_max) const;

  cluster_spec const& spec_;
  task_registry const& registry_;
  std::string not_connected_;
  std::int64_t not_connected_version_ = -1;
};

}  // namespace muster::core::coordination
