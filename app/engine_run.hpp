// The engine's context with the thread that runs it, from the first task on to the last.
//
// Owned by the composition root; its functions are called on the main thread unless they say so.
// What is built on the context before `start` has it to itself. Errors: a task that fails stops the
// server, which then ends as failed. Cancellation: none; `join` returns when somebody has closed
// the context.
#pragma once

#include <grpcpp/server_builder.h>

#include <atomic>
#include <functional>
#include <thread>

#include "coro/engine_context.hpp"
#include "coro/task_group.hpp"

namespace muster::server {

class engine_run {
 public:
  /// Of the server to be built; it answers on the context's queue.
  grpc::ServerBuilder& builder() { return builder_; }
  coro::engine_context& context() { return context_; }

  void start();
  /// Returns when the work is done there. REQUIRES: it has started and is not closed.
  void carry_out(std::function<void()> work);
  void join() { thread_.join(); }

  /// For the groups of tasks on it: logs the error and asks the server to stop.
  coro::task_group::error_hook on_task_error();
  /// Any thread.
  bool failed() const { return failed_; }

 private:
  grpc::ServerBuilder builder_;
  coro::engine_context context_{builder_.AddCompletionQueue()};
  std::thread thread_;
  std::atomic<bool> failed_ = false;
};

}  // namespace muster::server
