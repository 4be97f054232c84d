// What every accepted call has, whatever its message types: context, cancellation, and a state that
// lives until gRPC returned every tag. Used through server_bidi and server_unary. Engine thread
// only.
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

//   requested --ok--> accepted --handle gone--> (Finish sent by us unless it was) --last tag-->
//   freed
//       \--not ok (server stops)------------------------------------------------------------> freed
class server_call_state {
 public:
  explicit server_call_state(grpc_server& server);
  virtual ~server_call_state();
  server_call_state(server_call_state const&) = delete;

  // The request slot got a call: the done tag is under way from now on.
  void accepted();
  // The user's handle is gone. Answers `otherwise` if nobody finished the call. Frees the state
  // now or with the last tag.
  static void abandon(std::unique_ptr<server_call_state> state, grpc::Status const& otherwise);

  engine_context& engine;
  grpc::ServerContext context;
  function on_cancel;
  bool reading = false;
  bool writing = false;
  bool finishing = false;
  bool finish_started = false;
  bool cancelled = false;  // known once gRPC is through with the call
  std::string credential;  // what its caller was admitted by; empty: by nothing in particular

 protected:
  // Sends `status` and no message.
  virtual void finish_with(grpc::Status const& status, void* tag) = 0;

 private:
  void through(bool);
  void last_finished(bool);
  void free_when_through();

  grpc_server& server_;
  std::chrono::steady_clock::time_point came_{};
  std::string peer_;  // see grpc_server::call_reset
  member_tag<server_call_state, &server_call_state::through> done_tag_{*this};
  member_tag<server_call_state, &server_call_state::last_finished> last_finish_tag_{*this};
  bool done_expected_ = false;
  bool abandoned_ = false;
};

// The handle that a call's handler owns.
template <class State>
class server_call {
 public:
  explicit server_call(std::unique_ptr<State> state) : state_(std::move(state)) {}

  // REQUIRES: no read, write or finish is outstanding. A call that was not finished is answered
  // with INTERNAL.
  ~server_call() {
    if (!state_) return;
    check(!state_->reading && !state_->writing && !state_->finishing,
          "a call dies after all its operations came back");
    server_call_state::abandon(
        std::move(state_),
        grpc::Status(grpc::StatusCode::INTERNAL, "the handler ended without an answer"));
  }
  server_call(server_call const&) = delete;

  [[nodiscard]] grpc::ServerContext& context() noexcept { return state_->context; }
  [[nodiscard]] engine_context& engine() noexcept { return state_->engine; }

  // Ends the call: pending and later operations complete with false.
  void cancel() { state_->context.TryCancel(); }

  // Answers with `status` unless the call was finished, and lets go of it: its last use.
  void abandon(grpc::Status const& status) {
    server_call_state::abandon(std::move(state_), status);
  }

  // The client cancelled, its deadline passed, its connection broke, or cancel() was called. Seen
  // only once gRPC's notice has come through the queue.
  [[nodiscard]] bool cancelled() const noexcept { return state_->cancelled; }

  // Calls `fn` once, from the engine's loop, when cancelled() becomes true; at once if it is. This
  // is how a handler that is parked on something else learns that nobody waits for the answer any
  // more. `fn` is dropped with the handle.
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
