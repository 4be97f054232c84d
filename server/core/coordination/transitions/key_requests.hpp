// Handles requests about keys.
#pragma once

#include "server/core/coordination/transitions/preemption_notices.hpp"

namespace muster::core::coordination {

class key_requests {
 public:
  key_requests(step_frame& step, task_registry const& registry, key_value_store& store,
               preemption_notices& notices)
      : step_(step), registry_(registry), store_(store), notices_(notices) {}

  void on(insert_key_value& r);
  void on(get_key_value& r);
  /// A missing key counts as 0. Fails with FAILED_PRECONDITION if the value is not a number, or if
  /// the sum is too large.
  void on(increment_key_value& r);
  void on(get_key_value_dir& r);
  /// Erases a key, or a directory with all keys below it.
  void on(delete_key_value& r);
  /// REQUIRES: the call waits for a key and is no longer parked.
  void withdraw(call_id call, waiting_call const& w);

 private:
  void wake(std::string const& key);

  step_frame& step_;
  task_registry const& registry_;
  key_value_store& store_;
  preemption_notices& notices_;
};

}  // namespace muster::core::coordination
