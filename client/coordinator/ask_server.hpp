// Makes one call of the coordinator service on a separate channel. Used only on the engine thread.
#pragma once

#include <chrono>
#include <memory>

#include "client/session/client_session.hpp"
#include "client/session/ticket.hpp"
#include "coro/client_unary.hpp"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster::detail {

/// Calls a method of a generated stub, such as PrepareAsyncExplain. `response` is valid if the
/// status is OK. Cancelling the ticket cancels the call. The references must outlive the task.
template <class Method, class Request, class Response>
coro::task<grpc::Status> ask_server(ticket& t, client_engine& engine,
                                    session_settings const& settings,
                                    std::chrono::milliseconds timeout, Method method,
                                    Request const& request, Response& response) {
  auto const service = v1::CoordinatorService::NewStub(make_channel(settings.server, settings.tls));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout);
  context.set_wait_for_ready(true);
  add_token(context, settings.token);
  t.calls(&context);
  auto calling = coro::unary_call(engine.context(), *service, method, context, request, response);
  auto status = co_await std::move(calling);
  t.calls(nullptr);
  co_return status;
}

}  // namespace muster::detail
