// A parked call's kind of wait, and the object that it waits for. Used only on the engine thread.
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
  /// `kind` determines the type: barrier_number, key_wait_id, watched list or alive_group_id.
  std::uint64_t what = 0;
  time_point since{};
  /// Latest time at which the call is answered, shortly before the caller's own deadline.
  time_point deadline = never;

  barrier_number barrier() const { return barrier_number{what}; }
  key_wait_id key() const { return key_wait_id{what}; }
  alive_group_id group() const { return alive_group_id{what}; }
};

/// At limits::parked_calls_max, further calls are refused immediately.
using calls_of_generation = waiting_calls<waiting_call>;

}  // namespace muster::core::coordination
