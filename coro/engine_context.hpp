// The execution context of the engine thread: it polls the process's one gRPC completion queue and
// runs local functions in between, so that RPCs, timers and coroutines share a thread and no lock.
// Owned by the composition root, above every user of it. One thread calls run(); unless a member
// says otherwise, only that thread (or, before run() starts, its creator) may call.
#pragma once

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <boost/asio/execution_context.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/unique_function.hpp"
#include "coro/mailbox.hpp"
#include "coro/task.hpp"

namespace muster::coro {

class engine_executor;
class timer_queue;

class engine_context : public asio::execution_context {
 public:
  using executor_type = engine_executor;

  // Servers give the queue of their ServerBuilder (AddCompletionQueue), clients a plain one.
  explicit engine_context(std::unique_ptr<grpc::CompletionQueue> queue);
  // REQUIRES: run() is not running and no operation is pending. Functions that never ran are
  // destroyed, not called.
  ~engine_context();

  engine_context(engine_context const&) = delete;

  // Serves events until close() was called and nothing is left to do: no gRPC operation pending, no
  // function queued, no spawned coroutine alive. Then shuts the queue down and returns. Once only.
  // An exception that leaves a posted function ends the process.
  void run();

  // Any thread. Asks run() to return as described there; cancels every timer.
  void close();

  // Any thread. On the engine thread: appends to the local queue, costs no lock. From another: goes
  // through the mailbox, with one wake-up for all that is posted meanwhile; blocks while 1 Mi
  // functions wait there. False: the engine has ended, `fn` was destroyed.
  bool post(function fn);

  [[nodiscard]] executor_type get_executor() noexcept;
  [[nodiscard]] bool running_in_this_thread() const noexcept { return current_ == this; }

  [[nodiscard]] grpc::CompletionQueue& queue() noexcept { return *queue_; }
  // REQUIRES: constructed with a grpc::ServerCompletionQueue.
  [[nodiscard]] grpc::ServerCompletionQueue& server_queue() noexcept;
  [[nodiscard]] timer_queue& timers() noexcept { return *timers_; }

  // gRPC operations that were started and whose tag has not come back; request slots count, the
  // engine's own alarms do not.
  [[nodiscard]] std::size_t pending_ops() const noexcept { return pending_ops_; }
  // How often another thread had to wake the engine. Any thread.
  [[nodiscard]] std::uint64_t wakes() const noexcept {
    return wakes_.load(std::memory_order_relaxed);
  }

  // For operations only: one started() per gRPC call that will yield a tag, one returned() per tag.
  void op_started() noexcept;
  void op_returned() noexcept;
  // For executors only, any thread: coroutines that are alive keep run() from returning.
  void work_started() noexcept { work_.fetch_add(1, std::memory_order_relaxed); }
  void work_finished() noexcept;

 private:
  struct wake_up;
  class thread_scope;

  void run_local();
  void serve_one_event();
  [[nodiscard]] bool nothing_left();
  void shut_queue_down();
  void take_posted(bool);

  static constinit thread_local engine_context const* current_;

  // constant after construction
  std::unique_ptr<grpc::CompletionQueue> queue_;
  std::unique_ptr<wake_up> wake_up_;
  std::unique_ptr<timer_queue> timers_;

  // engine thread only
  std::deque<function> local_;
  std::vector<function> arrived_;  // reused by every drain of the mailbox
  std::size_t pending_ops_ = 0;
  bool started_ = false;
  bool shut_down_ = false;

  // any thread
  mailbox posted_;
  std::atomic<std::size_t> work_ = 0;
  std::atomic<std::uint64_t> wakes_ = 0;
  std::atomic<bool> closing_ = false;
};

}  // namespace muster::coro

#include "coro/engine_executor.hpp"
