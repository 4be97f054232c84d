// Execution context of the engine thread. The thread polls the process's only gRPC completion queue
// and runs local functions in between. The composition root owns it, and it outlives its users.
// Unless documented otherwise, call members only on the thread of run(), or before run() on the
// creator's thread.
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

  // @param queue for a server, from ServerBuilder::AddCompletionQueue; for a client, a plain queue
  explicit engine_context(std::unique_ptr<grpc::CompletionQueue> queue);
  // Destroys queued functions without calling any.
  // @pre run() is not running and no operation is pending.
  ~engine_context();

  engine_context(engine_context const&) = delete;

  // Processes events until close() has been called and no gRPC operation, queued function or
  // spawned coroutine is left. Then shuts the queue down. Must be called once. An exception from a
  // posted function terminates the process.
  void run();

  // Makes run() return when its work is done. Cancels all timers. Thread-safe.
  void close();

  // Queues a function. If the engine has ended, destroys `fn` and returns false. Thread-safe, and
  // lock-free on the engine thread. Other threads use the mailbox: they wake the engine once per
  // batch, and block while the mailbox contains 1 Mi functions.
  bool post(function fn);

  [[nodiscard]] executor_type get_executor() noexcept;
  [[nodiscard]] bool running_in_this_thread() const noexcept { return current_ == this; }

  [[nodiscard]] grpc::CompletionQueue& queue() noexcept { return *queue_; }
  // @pre The context was constructed with a grpc::ServerCompletionQueue.
  [[nodiscard]] grpc::ServerCompletionQueue& server_queue() noexcept;
  [[nodiscard]] timer_queue& timers() noexcept { return *timers_; }

  // Returns the number of outstanding gRPC operations, including request slots but not the engine's
  // alarms.
  [[nodiscard]] std::size_t pending_ops() const noexcept { return pending_ops_; }
  [[nodiscard]] std::uint64_t wakes() const noexcept {
    return wakes_.load(std::memory_order_relaxed);
  }

  // gRPC operations call op_started() when they start, and op_returned() when the queue returns
  // their tag.
  void op_started() noexcept;
  void op_returned() noexcept;
  // Executors call these functions. run() does not return while coroutines exist. Thread-safe.
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

  // used only on the engine thread
  std::deque<function> local_;
  std::vector<function> arrived_;
  std::size_t pending_ops_ = 0;
  bool started_ = false;
  bool shut_down_ = false;

  // thread-safe
  mailbox posted_;
  std::atomic<std::size_t> work_ = 0;
  std::atomic<std::uint64_t> wakes_ = 0;
  std::atomic<bool> closing_ = false;
};

}  // namespace muster::coro

#include "coro/engine_executor.hpp"
