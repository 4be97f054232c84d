// Execution context of the engine thread. The thread polls the process's only gRPC completion queue
// and runs local functions in between. Owned by the composition root; outlives its users. Unless
// documented otherwise, members may be called only by the thread of run(), or before run() by the
// creator.
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

  // @param queue From ServerBuilder::AddCompletionQueue for a server; a plain queue for a client.
  explicit engine_context(std::unique_ptr<grpc::CompletionQueue> queue);
  // Destroys queued functions without calling them.
  // @pre run() is not running and no operation is pending.
  ~engine_context();

  engine_context(engine_context const&) = delete;

  // Processes events until close() has been called and no gRPC operation, queued function or
  // spawned coroutine is left. Then shuts the queue down. Called once. An exception from a posted
  // function terminates the process.
  void run();

  // Makes run() return when its work is done. Cancels all timers. Any thread.
  void close();

  // Queues a function. If the engine has ended, destroys `fn` and returns false. Any thread.
  // Lock-free on the engine thread. Other threads use the mailbox: they wake the engine once per
  // batch, and block while the mailbox contains 1 Mi functions.
  bool post(function fn);

  [[nodiscard]] executor_type get_executor() noexcept;
  [[nodiscard]] bool running_in_this_thread() const noexcept { return current_ == this; }

  [[nodiscard]] grpc::CompletionQueue& queue() noexcept { return *queue_; }
  // @pre Constructed with a grpc::ServerCompletionQueue.
  [[nodiscard]] grpc::ServerCompletionQueue& server_queue() noexcept;
  [[nodiscard]] timer_queue& timers() noexcept { return *timers_; }

  // Returns the number of outstanding gRPC operations, including request slots but not the engine's
  // alarms.
  [[nodiscard]] std::size_t pending_ops() const noexcept { return pending_ops_; }
  [[nodiscard]] std::uint64_t wakes() const noexcept {
    return wakes_.load(std::memory_order_relaxed);
  }

  // Called by gRPC operations: op_started() when an operation starts, op_returned() when its tag is
  // returned.
  void op_started() noexcept;
  void op_returned() noexcept;
  // Called by executors. run() does not return while coroutines exist. Any thread.
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
  std::vector<function> arrived_;
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
