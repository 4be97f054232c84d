// An accepted unary call. accept_unary creates it, and its handler owns it and uses it only on the
// engine thread. Messages are Protobuf or grpc::ByteBuffer.
#pragma once

#include <grpcpp/support/async_unary_call.h>

#include <utility>

#include "coro/server_call.hpp"

namespace muster::coro {

template <class Request, class Response>
struct server_unary_state final : server_call_state {
  using server_call_state::server_call_state;
  void finish_with(grpc::Status const& status, void* tag) override {
    responder.FinishWithError(status, tag);
  }

  Request request;
  grpc::ServerAsyncResponseWriter<Response> responder{&context};
};

template <class Request, class Response>
class server_unary : public server_call<server_unary_state<Request, Response>> {
 public:
  using state = server_unary_state<Request, Response>;
  using server_call<state>::server_call;

  [[nodiscard]] Request& request() noexcept { return this->state_->request; }

  // Completes with true when the response was sent, or with false when the caller has disconnected.
  // Must be called once. Cancelling with `terminal` cancels the call. The task still completes only
  // when gRPC has returned the operation.
  // @pre `response` outlives the task.
  [[nodiscard]] task<bool> finish(Response const& response) {
    state& s = *this->state_;
    check(!std::exchange(s.finish_started, true), "a call must be finished only once");
    auto start = [&s, &response](void* tag) {
      s.responder.Finish(response, grpc::Status::OK, tag);
    };
    co_return co_await await_rpc(s.engine, s.finishing, &s.context, start);
  }

  // Sends an error without a message.
  // @pre `error` is not OK.
  [[nodiscard]] task<bool> finish(grpc::Status error) {
    state& s = *this->state_;
    check(!error.ok(), "an answer without a message must be an error");
    check(!std::exchange(s.finish_started, true), "a call must be finished only once");
    auto start = [&s, &error](void* tag) { s.responder.FinishWithError(error, tag); };
    co_return co_await await_rpc(s.engine, s.finishing, &s.context, start);
  }
};

}  // namespace muster::coro
