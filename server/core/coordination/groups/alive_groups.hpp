// Queries for living tasks. A query for a set of tasks is answered when every connected task of the
// set has sent a query. Used only on the engine thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/core/common/slot_table.hpp"
#include "server/core/coordination/api/coordination_effects.hpp"

namespace muster::core::coordination {

enum class alive_group_id : std::uint64_t {};

class alive_groups {
 public:
  using connected = std::function<bool(task_index)>;

  /// REQUIRES: `tasks` is ascending and contains `t`.
  alive_group_id ask(std::vector<task_index> const& tasks, task_index t, call_id call);
  /// REQUIRES: the call waits in this group.
  void withdraw(alive_group_id g, call_id call);
  struct complete {
    std::vector<task_index> tasks;
    std::vector<call_id> calls;  // ascending
  };
  std::optional<complete> take_if_complete(alive_group_id g, connected const& is_connected);

  /// Returns all groups, ordered by their tasks.
  std::vector<alive_group_id> all() const;
  struct waiter {
    call_id call{};
    alive_group_id group{};
  };
  std::vector<waiter> of(task_index t) const;
  std::size_t waiting() const;
  std::string violated_invariant() const;

 private:
  struct group {
    std::vector<task_index> tasks;
    std::map<call_id, task_index> calls;
    std::vector<std::uint32_t> asked;
    // Position of a connected task that had sent no query at the last check. The next check starts
    // with this task, so that a thousand callers cost a thousand steps, not a million.
    std::size_t awaited = 0;

    std::size_t position(task_index t) const;
  };

  slot_table<alive_group_id, group> groups_;
  std::map<std::vector<task_index>, alive_group_id> by_tasks_;
};

}  // namespace muster::core::coordination
