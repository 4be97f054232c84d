// Copies of one generation's state for readers. Created for each query and used only on the engine
// thread.
#pragma once

#include <optional>

#include "server/core/coordination/api/coordination_views.hpp"
#include "server/core/coordination/barriers/barrier_table.hpp"
#include "server/core/coordination/groups/device_exchange.hpp"
#include "server/core/coordination/tasks/task_registry.hpp"
#include "server/core/coordination/waiting_call.hpp"

namespace muster::core::coordination {

class generation_views {
 public:
  std::uint64_t number;
  cluster_spec const& spec;
  task_registry const& registry;
  barrier_table const& barriers;
  key_value_store const& store;
  calls_of_generation const& calls;
  device_exchange const& devices;

  /// Returns up to `limit` tasks and skips the first `after` tasks. A task is late if other tasks
  /// have waited for it at a barrier for longer than `late_after`, by default the cluster's
  /// stuck_after.
  std::vector<agent_view> tasks(time_point now, std::size_t after, std::size_t limit,
                                std::optional<duration> late_after = {}) const;
  void count(time_point now, generation_view& into) const;
  /// Returns running barriers ordered by start, then finished barriers from newest to oldest. The
  /// views omit task lists.
  std::vector<barrier_view> barriers_from(std::size_t after, std::size_t limit) const;
  std::optional<barrier_view> barrier(std::string_view id) const;
  /// Returns keys that start with `prefix` and are greater than `after`, in byte order.
  std::vector<key_view> keys(std::string_view prefix, std::string_view after,
                             std::size_t limit) const;
  std::optional<key_view> key(std::string_view key) const;
  std::vector<key_wait_view> key_waits(std::string_view prefix, std::size_t limit) const;

 private:
  using late_for = std::vector<coordination::barrier const*>;
  late_for late_tasks(time_point now, duration late_after) const;
  agent_health health_of(task_index t, late_for const& late, time_point now) const;
  agent_view agent_of(task_index t, late_for const& late, time_point now) const;
  void add_waits(std::vector<agent_view>& views, std::size_t after) const;
  barrier_view view_of(coordination::barrier const& b, bool with_tasks) const;
};

}  // namespace muster::core::coordination
