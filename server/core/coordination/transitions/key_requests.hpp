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
  /// Answers with the value, or waits for it where the call may.
  void on(get_key_value& r);
  /// Adds to a number that is text; a key that is not there counts as 0. FAILED_PRECONDITION: it is
  /// no number, or the sum is too large.
  void on(increment_key_value& r);
  /// All keys below a folder.
  void on(get_key_value_dir& r);
  /// Erases a key, or a folder with all below it.
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
