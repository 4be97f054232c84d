// Requests about keys, which concern nobody else but those who wait for them. Owned by `service`;
// engine thread only; pure.
#pragma once

#include "server/core/coordination/transitions/preemption_notices.hpp"

namespace muster::core::coordination {

class key_requests {
 public:
  /// REQUIRES: all outlive it.
  key_requests(step_frame& step, task_registry const& registry, key_value_store& store,
               preemption_notices& notices)
      : step_(step), registry_(registry), store_(store), notices_(notices) {}

  // Each answers or parks its call.
  void on(insert_key_value& r);
  void on(get_key_value& r);
  void on(increment_key_value& r);
  void on(get_key_value_dir& r);
  void on(delete_key_value& r);
  /// The call waits no longer. REQUIRES: it waited for a key, and was taken from the parked ones.
  void withdraw(call_id call, waiting_call const& w);

 private:
  void wake(std::string const& key);

  step_frame& step_;
  task_registry const& registry_;
  key_value_store& store_;
  preemption_notices& notices_;
};

}  // namespace muster::core::coordination
