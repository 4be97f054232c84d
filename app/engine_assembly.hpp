// What every part of the server stands on: the configuration, the clock, the event feed, and the
// engine's context with the thread that runs it, from the first task on to the last.
//
// Owned by the composition root, outlives the other assemblies; its functions are called on the
// main thread unless they say so. What is built on the context before `start` has it to itself.
// Errors: a task that fails stops the server, which then ends as failed.
#pragma once

#include <grpcpp/server_builder.h>

#include <atomic>
#include <functional>
#include <thread>

#include "app/clock.hpp"
#include "app/configuration.hpp"
#include "app/process_setup.hpp"
#include "coro/engine_context.hpp"
#include "coro/task_group.hpp"
#include "server/hub/event_log.hpp"

namespace muster::server {

class engine_assembly {
 public:
  explicit engine_assembly(configuration const& c);

  // Any thread.
  configuration const& config;
  anchored_clock const clock;
  std::uint64_t const incarnation = random_64();  // of this process
  /// Whether a task has ended with an error, which stops the server.
  bool failed() const { return failed_; }

  /// Of the gRPC server to be built; it answers on the context's queue.
  grpc::ServerBuilder& builder() { return builder_; }
  coro::engine_context& context() { return context_; }

  /// Begins the engine thread. Once.
  void start();
  /// Returns when the work is done there. REQUIRES: it has started and is not closed.
  void carry_out(std::function<void()> work);
  /// Runs the last task, then closes the context and waits for the thread. Once.
  void finish(std::function<coro::task<void>()> last);

  // Engine thread, or before that runs.
  event_log& events() { return events_; }
  /// A line for the event feed.
  void feed(log_event const& n) { events_.add(clock.now(), n); }
  /// A line for the event feed and the log.
  void tell(log_event const& n);

 private:
  coro::task_group::error_hook on_task_error();
  coro::task<void> run_last(std::function<coro::task<void>()> last);

  grpc::ServerBuilder builder_;
  coro::engine_context context_{builder_.AddCompletionQueue()};
  std::thread thread_;
  std::atomic<bool> failed_ = false;
  event_log events_;
  coro::task_group last_{context_.get_executor(), 1, on_task_error()};
};

}  // namespace muster::server
