// A bounded set of named tasks that can be cancelled and awaited together, with one hook for
// exceptions. Coroutines that are not awaited must be started through a task_group. The object that
// the tasks use should own the group, so that no task outlives the object. Works on any Asio
// executor, but only on the executor's thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <cstddef>
#include <exception>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_function.hpp"
#include "coro/task.hpp"

namespace muster::coro {

class task_group {
 public:
  // Receives exceptions of tasks, except operation_aborted from a cancelled task.
  using error_hook = std::function<void(std::string_view name, std::exception_ptr error)>;

  // @param tasks_max Maximum number of tasks at the same time.
  // @pre `on_error` is not empty.
  task_group(asio::any_io_executor executor, std::size_t tasks_max, error_hook on_error);
  // @pre The group is empty; await wait() first.
  ~task_group();
  task_group(task_group const&) = delete;

  // Runs `body` up to its first suspension. If the group is full, destroys `body` without running
  // it and returns false.
  bool spawn(std::string name, task<void> body);

  // Signals all current tasks. `terminal` reaches every task; `total` and `partial` reach only
  // tasks that enabled them with this_coro::reset_cancellation_state. A task that is not suspended
  // in an operation receives the signal at its next co_await.
  void cancel(asio::cancellation_type type = asio::cancellation_type::terminal);

  // Completes when no task is left. Cannot fail. Cancelling wait() cancels the tasks but still
  // waits until all have ended.
  // @pre No other wait() is pending.
  [[nodiscard]] task<void> wait();

  [[nodiscard]] std::size_t size() const noexcept { return live_; }
  [[nodiscard]] bool empty() const noexcept { return live_ == 0; }
  [[nodiscard]] bool full() const noexcept { return live_ >= tasks_max_; }

 private:
  struct child {
    explicit child(std::string n) : name(std::move(n)) {}
    std::string name;
    asio::cancellation_signal signal;
    bool cancelled = false;
  };
  using position = std::list<child>::iterator;

  void finished(position which, std::exception_ptr error);
  [[nodiscard]] task<void> last_gone();

  asio::any_io_executor executor_;
  std::size_t const tasks_max_;
  error_hook on_error_;
  std::list<child> children_;
  std::list<child> finished_children_;  // tasks that finished during cancel()
  std::size_t live_ = 0;
  unsigned cancelling_ = 0;
  function waiter_;
};

}  // namespace muster::coro
