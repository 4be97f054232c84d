// Common part of accepted calls: context, cancellation, and a state that exists until its handle is
// destroyed and gRPC has returned every tag. Used only on the engine thread.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/unique_function.hpp"
#include "coro/engine_context.hpp"
#include "coro/rpc_tag.hpp"

namespace muster::coro {

class grpc_server;

// States:
//
//   requested --ok--> accepted --handle destroyed--> (Finish, if not sent) --last tag--> freed
//       \--not ok (server stops)--------------------------------------------------------> freed
class server_call_state {
 public:
  explicit server_call_state(grpc_server& server);
  virtual ~server_call_state();
  server_call_state(server_call_state const&) = delete;

  // Called when a call has arrived in the request slot. From then on, the done tag is expected.
  void accepted();
  // Called when the handle is destroyed. Finishes an unfinished call with the status `otherwise`.
  // Frees the state now, or when gRPC returns the last tag.
  static void abandon(std::unique_ptr<server_call_state> state, grpc::Status const& otherwise);

  engine_context& engine;
  grpc::ServerContext context;
  function on_cancel;
  bool reading = false;
  bool writing = false;
  bool finishing = false;
  bool finish_started = false;
  bool cancelled = false;  // set when gRPC reports the end of the call
  std::string credential;

 protected:
  virtual void finish_with(grpc::Status const& status, void* tag) = 0;

 private:
  void through(bool);
  void last_finished(bool);
  void free_if_done();

  grpc_server& server_;
  std::chrono::steady_clock::time_point arrived_at_{};
  std::string peer_;
  member_tag<server_call_state, &server_call_state::through> done_tag_{*this};
  member_tag<server_call_state, &server_call_state::last_finished> last_finish_tag_{*this};
  bool done_expected_ = false;
  bool abandoned_ = false;
};

template <class State>
class server_call {
 public:
  explicit server_call(std::unique_ptr<State> state) : state_(std::move(state)) {}

  // Finishes an unfinished call with INTERNAL.
  // @pre No read, write or finish is outstanding.
  ~server_call() {
    if (!state_) return;
    check(!state_->reading && !state_->writing && !state_->finishing,
          "a call must not be destroyed while its operations are outstanding");
    server_call_state::abandon(
        std::move(state_),
        grpc::Status(grpc::StatusCode::INTERNAL, "the handler returned without an answer"));
  }
  server_call(server_call const&) = delete;

  [[nodiscard]] grpc::ServerContext& context() noexcept { return state_->context; }
  [[nodiscard]] engine_context& engine() noexcept { return state_->engine; }

  // Ends the call. Pending and later operations complete with false.
  void cancel() { state_->context.TryCancel(); }

  // Finishes an unfinished call with `status`, and releases the handle. The handle must not be used
  // afterwards.
  void abandon(grpc::Status const& status) {
    server_call_state::abandon(std::move(state_), status);
  }

  // Returns whether the client cancelled, the deadline passed, the connection broke, or cancel()
  // was called. Becomes true when gRPC's notification arrives through the queue.
  [[nodiscard]] bool cancelled() const noexcept { return state_->cancelled; }

  // Calls `fn` once, on the engine's loop, when cancelled() becomes true, or immediately if
  // cancelled() is already true. `fn` is destroyed with the handle.
  void on_cancel(function fn) {
    if (state_->cancelled)
      fn();
    else
      state_->on_cancel = std::move(fn);
  }

 protected:
  std::unique_ptr<State> state_;
};

}  // namespace muster::coro
