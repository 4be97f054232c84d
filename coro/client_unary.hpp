// An outgoing unary call with Protobuf messages, used only on the engine thread.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/async_unary_call.h>

#include <memory>

#include "coro/rpc_tag.hpp"

namespace muster::coro {

// Calls a method of a generated stub: unary_call(engine, stub, &Stub::PrepareAsyncX, context,
// request, response). Returns the call's status and fills `response` if the status is OK.
// Cancelling with `terminal` returns CANCELLED. All references must outlive the task. `context` can
// be used for only one call. If `context` has no deadline, the call can wait forever.
template <class Stub, class Owner, class Request, class Response>
[[nodiscard]] task<grpc::Status> unary_call(
    engine_context& engine, Stub& stub,
    std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> (Owner::*method)(
        grpc::ClientContext*, Request const&, grpc::CompletionQueue*),
    grpc::ClientContext& context, Request const& request, Response& response) {
  auto call = (stub.*method)(&context, request, &engine.queue());
  grpc::Status status;
  bool busy = false;
  auto start = [c = call.get(), &response, &status](void* tag) {
    c->StartCall();
    c->Finish(&response, &status, tag);
  };
  co_await await_rpc(engine, busy, &context, start);
  co_return status;
}

}  // namespace muster::coro
