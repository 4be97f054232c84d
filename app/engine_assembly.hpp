// The base of all server parts: configuration, clock, event feed, and the engine's context with its
// thread.
//
// Owned by the composition root; outlives the other assemblies. Used on the main thread unless
// stated otherwise. Before start(), objects can use the context from a single thread. If a task
// fails, the server stops with an error.
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

  // Thread-safe members.
  configuration const& config;
  anchored_clock const clock;
  std::uint64_t const incarnation = random_64();
  bool failed() const { return failed_; }

  grpc::ServerBuilder& builder() { return builder_; }
  coro::engine_context& context() { return context_; }

  /// Must be called once.
  void start();
  /// Runs `work` on the engine thread and waits for it.
  /// @pre The thread is running.
  void carry_out(std::function<void()> work);
  /// Runs the last task, closes the context and joins the thread. Called once.
  void finish(std::function<coro::task<void>()> last);

  // Used only on the engine thread once it runs.
  event_log& events() { return events_; }
  void feed(log_event const& n) { events_.add(clock.now(), n); }
  void add_log_event(log_event const& n);

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
