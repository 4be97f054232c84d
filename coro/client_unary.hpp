// One outgoing unary call. Request and Response are Protobuf messages. Engine thread only.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/async_unary_call.h>

#include <memory>

#include "coro/rpc_tag.hpp"

namespace muster::coro {

// Calls by a generated stub: unary_call(engine, stub, &Stub::PrepareAsyncX, context, request,
// response). Completion: the call's status, with `response` filled if it is OK. Cancellation:
// `terminal` cancels the call, which then completes with CANCELLED. Lifetime: all references
// outlive the task; `context` serves one call and carries its deadline, without which the wait has
// no limit.
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
