// The only way to start a coroutine that nobody awaits: a bounded set of named tasks that can be
// cancelled and waited for together, with one place where their exceptions go. Owned by what the
// tasks refer to, so that they cannot outlive it. Works on any Asio executor; call it on that
// executor's thread only.
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
  // Gets what a task threw, except the operation_aborted of a task that was cancelled.
  using error_hook = std::function<void(std::string_view name, std::exception_ptr error)>;

  // REQUIRES: `on_error` is callable. At most `tasks_max` tasks live at once; more are refused.
  task_group(asio::any_io_executor executor, std::size_t tasks_max, error_hook on_error);
  // REQUIRES: empty. Await wait() first.
  ~task_group();
  task_group(task_group const&) = delete;

  // Runs `body` up to its first suspension, then returns. False: the group is full and `body` was
  // destroyed without having run.
  bool spawn(std::string name, task<void> body);

  // Signals every task that lives now; a task that is spawned later is not concerned. `terminal`
  // (stop now) reaches every task; `total` and `partial` only those that enabled them by
  // this_coro::reset_cancellation_state. A signal that finds a task not suspended in an operation
  // is seen by its next co_await.
  void cancel(asio::cancellation_type type = asio::cancellation_type::terminal);

  // Completes when no task is left. Errors: none. Cancellation: passed on to the tasks, and goes on
  // waiting for them. REQUIRES: one waiter at a time.
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
  std::list<child> gone_;  // finished while cancel() walks over children_
  std::size_t live_ = 0;
  unsigned cancelling_ = 0;
  function waiter_;
};

}  // namespace muster::coro
