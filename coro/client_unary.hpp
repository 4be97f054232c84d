// One outgoing unary call. Request and Response are Protobuf messages or grpc::ByteBuffer. Engine
// thread only.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/async_unary_call.h>

#include <memory>
#include <type_traits>

#include "coro/rpc_tag.hpp"

namespace muster::coro {

// Calls by `prepare(grpc::ClientContext*, Request const&, grpc::CompletionQueue*)`, which gives the
// unstarted call. Completion: the call's status, with `response` filled if it is OK. Cancellation:
// `terminal` cancels the call, which then completes with CANCELLED. Lifetime: all references
// outlive the task; `context` serves one call and carries its deadline, without which the wait has
// no limit.
template <class Request, class Response, class Prepare>
requires std::is_invocable_r_v<std::unique_ptr<grpc::ClientAsyncResponseReader<Response>>, Prepare&,
                               grpc::ClientContext*, Request const&,
                               grpc::CompletionQueue*> [[nodiscard]] task<grpc::Status>
unary_call(engine_context& engine, Prepare prepare, grpc::ClientContext& context,
           Request const& request, Response& response) {
  auto call = prepare(&context, request, &engine.queue());
  grpc::Status status;
  bool busy = false;
  auto start = [c = call.get(), &response, &status](void* tag) {
    c->StartCall();
    c->Finish(&response, &status, tag);
  };
  co_await await_rpc(engine, busy, &context, start);
  co_return status;
}

// The same by a generated stub: unary_call(engine, stub, &Stub::PrepareAsyncX, context, request,
// response).
template <class Stub, class Owner, class Request, class Response>
[[nodiscard]] task<grpc::Status> unary_call(
    engine_context& engine, Stub& stub,
    std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> (Owner::*method)(
        grpc::ClientContext*, Request const&, grpc::CompletionQueue*),
    grpc::ClientContext& context, Request const& request, Response& response) {
  auto prepare = [&stub, method](grpc::ClientContext* c, Request const& r,
                                 grpc::CompletionQueue* q) { return (stub.*method)(c, r, q); };
  return unary_call(engine, prepare, context, request, response);
}

}  // namespace muster::coro
