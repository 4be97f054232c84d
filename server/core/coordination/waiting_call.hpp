// What a call of the coordination service may wait for, and how its owner finds it there again: by
// the number that the part gave which holds it.
#pragma once

#include "server/core/common/waiting_calls.hpp"
#include "server/core/coordination/barriers/barrier.hpp"
#include "server/core/coordination/groups/alive_groups.hpp"
#include "server/core/coordination/key_values/key_value_store.hpp"

namespace muster::core::coordination {

enum class wait_kind : std::uint8_t { barrier, key, poll, watch, alive };

struct waiting_call {
  wait_kind kind = wait_kind::poll;
  task_index task = no_task;
  /// Of the kind: a barrier_number, a key_wait_id, the list that is watched, an alive_group_id.
  std::uint64_t what = 0;
  time_point since{};
  /// Answered at the latest; shortly before the caller's own.
  time_point deadline = never;

  barrier_number barrier() const { return barrier_number{what}; }
  key_wait_id key() const { return key_wait_id{what}; }
  alive_group_id group() const { return alive_group_id{what}; }
};

/// Bounded by limits::parked_calls_max; a call that finds it full is refused at once.
using calls_of_generation = waiting_calls<waiting_call>;

}  // namespace muster::core::coordination
