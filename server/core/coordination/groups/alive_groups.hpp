// Sets of tasks that ask which of them are alive: a set is answered when every connected task of it
// has asked. Owned by `service`, which knows who is connected; pure; engine thread only.
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

  /// The task asks about itself and the others of this set. REQUIRES: ascending, with the task.
  alive_group_id ask(std::vector<task_index> const& tasks, task_index t, call_id call);
  /// The call waits no longer. REQUIRES: it waits in this group.
  void withdraw(alive_group_id g, call_id call);
  /// Its members, once every connected one of them has asked; the group is gone then.
  struct complete {
    std::vector<task_index> tasks;
    std::vector<call_id> calls;  // ascending
  };
  std::optional<complete> take_if_complete(alive_group_id g, connected const& is_connected);

  /// In order of their tasks.
  std::vector<alive_group_id> all() const;
  struct waiter {
    call_id call{};
    alive_group_id group{};
  };
  /// The calls of one task.
  std::vector<waiter> of(task_index t) const;
  std::size_t waiting() const;
  std::string violated_invariant() const;

 private:
  struct group {
    std::vector<task_index> tasks;
    std::map<call_id, task_index> calls;
    std::vector<std::uint32_t> asked;  // by position in `tasks`: calls of the task
    // Position of a connected task that had not asked when last looked for; the next look starts
    // here, so that a thousand callers of one set cost a thousand steps rather than a million.
    std::size_t awaited = 0;

    std::size_t position(task_index t) const;
  };

  slot_table<alive_group_id, group> groups_;
  std::map<std::vector<task_index>, alive_group_id> by_tasks_;
};

}  // namespace muster::core::coordination
