// One accepted call whose both sides stream, made by accept_bidi and owned by its handler. Request
// and Response are Protobuf messages or grpc::ByteBuffer. Engine thread only.
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

// One read and one write may be outstanding at once; finish comes after the last write is back, and
// may overtake a pending read. Cancellation of all awaitables: `terminal` cancels the whole call,
// and the task completes with false when gRPC has returned the operation.
template <class Request, class Response>
class server_bidi : public server_call<server_bidi_state<Request, Response>> {
 public:
  using state = server_bidi_state<Request, Response>;
  using server_call<state>::server_call;

  // Completion: true when `request` was filled; false when the client half-closed, cancelled or is
  // gone: a pending read is the stream's death detector. REQUIRES: `request` outlives the read.
  [[nodiscard]] task<bool> read(Request& request) {
    check(!s().finish_started, "no read is started after finish");
    auto start = [s = &s(), &request](void* tag) { s->stream.Read(&request, tag); };
    return await_rpc(s().engine, s().reading, &s().context, start);
  }

  // Completion: true when gRPC took the message and has room for the next one; false when the call
  // is dead. `response` is encoded when the task is first awaited and may be changed afterwards.
  [[nodiscard]] task<bool> write(Response const& response) {
    check(!s().finish_started, "no write is started after finish");
    auto start = [s = &s(), &response](void* tag) { s->stream.Write(response, tag); };
    return await_rpc(s().engine, s().writing, &s().context, start);
  }

  // Completion: true when the status went out; false when the call was dead already. Once a call.
  [[nodiscard]] task<bool> finish(grpc::Status status) {
    check(!s().writing, "finish waits for the last write to come back");
    check(!std::exchange(s().finish_started, true), "a call is finished once");
    auto start = [s = &s(), &status](void* tag) { s->stream.Finish(status, tag); };
    co_return co_await await_rpc(s().engine, s().finishing, &s().context, start);
  }

 private:
  state& s() noexcept { return *this->state_; }
};

}  // namespace muster::coro
