// An accepted call that streams in both directions. accept_bidi creates it, and its handler owns it
// and uses it only on the engine thread. Messages are Protobuf or grpc::ByteBuffer.
#pragma once

#include <grpcpp/support/async_stream.h>

#include <memory>
#include <utility>

#include "coro/server_call.hpp"

namespace muster::coro {

template <class Request, class Response>
struct server_bidi_state final : server_call_state {
  using server_call_state::server_call_state;
  void finish_with(grpc::Status const& status, void* tag) override { stream.Finish(status, tag); }

  grpc::ServerAsyncReaderWriter<Response, Request> stream{&context};
};

// At most one read and one write can be outstanding. Call finish() after the last write has
// completed; a read may still be pending. Cancelling any awaitable with `terminal` cancels the
// whole call. The awaitable completes with false when gRPC has returned the operation.
template <class Request, class Response>
class server_bidi : public server_call<server_bidi_state<Request, Response>> {
 public:
  using state = server_bidi_state<Request, Response>;
  using server_call<state>::server_call;

  // Completes with true when `request` was filled, or with false when the client has half-closed,
  // cancelled or disconnected. @pre `request` outlives the read.
  [[nodiscard]] task<bool> read(Request& request) {
    check(!s().finish_started, "a read must not be started after finish()");
    auto start = [s = &s(), &request](void* tag) { s->stream.Read(&request, tag); };
    return await_rpc(s().engine, s().reading, &s().context, start);
  }

  // Encodes `response` when the task is first awaited; `response` can change afterwards. Completes
  // with true when gRPC can accept the next message, or with false if the call has ended.
  [[nodiscard]] task<bool> write(Response const& response) {
    check(!s().finish_started, "a write must not be started after finish()");
    auto start = [s = &s(), &response](void* tag) { s->stream.Write(response, tag); };
    return await_rpc(s().engine, s().writing, &s().context, start);
  }

  // Completes with true when the status was sent, or with false if the call had already ended. Must
  // be called once.
  [[nodiscard]] task<bool> finish(grpc::Status status) {
    check(!s().writing, "finish() must not be called before the last write has completed");
    check(!std::exchange(s().finish_started, true), "a call must be finished only once");
    auto start = [s = &s(), &status](void* tag) { s->stream.Finish(status, tag); };
    co_return co_await await_rpc(s().engine, s().finishing, &s().context, start);
  }

 private:
  state& s() noexcept { return *this->state_; }
};

}  // namespace muster::coro
