// How an agent calls the service: who asks, until when, and what a broken connection means.
// Included by the agent's own sources only.
#pragma once

#include "base/backoff.hpp"
#include "client/agent/agent.hpp"
#include "coro/client_unary.hpp"

namespace muster::detail {

// Wire facts: who names itself where.
template <class Request>
void agent::sign(Request& q) const {
  auto const task = static_cast<std::int32_t>(options_.task);
  if constexpr (requires { q.mutable_incarnations(); }) {
    q.mutable_incarnations()->set_task_incarnation(incarnation_);
    q.mutable_incarnations()->set_service_incarnation(service_);
  }
  if constexpr (requires { q.set_source_task_id(0); }) q.set_source_task_id(task);
  if constexpr (requires { q.set_requesting_task_id(0); }) q.set_requesting_task_id(task);
  // Without a job's name TensorFlow's dialect counts through the cluster, too.
  if constexpr (requires { q.mutable_source_task(); }) q.mutable_source_task()->set_task_id(task);
}

/// One attempt, which waits for the connection if there is none. `deadline` max(): none.
template <class Stub, class Request, class Response>
coro::task<grpc::Status> agent::once(ticket& t, method<Stub, Request, Response> m, Request const& q,
                                     Response& r, clock::time_point deadline) {
  check_cut(t);
  grpc::ClientContext context;
  add_token(context, options_.token);
  context.set_wait_for_ready(true);
  if (deadline != clock::time_point::max())
    context.set_deadline(std::chrono::system_clock::now() +
                         std::max<clock::duration>(deadline - clock::now(), milliseconds(1)));
  t.calls(&context);
  auto calling = coro::unary_call(engine_.context(), *std::get<std::unique_ptr<Stub>>(stubs_), m,
                                  context, q, r);
  auto const status = co_await std::move(calling);
  t.calls(nullptr);
  co_return status;
}

/// Completion: the answer is in `r`, or what the service refused it with. Errors: what the cut of
/// the ticket means; agent_error (this is no longer the run that it registered for); wait_timeout.
template <class Stub, class Request, class Response>
coro::task<std::optional<service_error>> agent::ask(ticket& t, method<Stub, Request, Response> m,
                                                    Request& q, Response& r, milliseconds timeout,
                                                    again a) {
  check_cut(t);
  check_connected();
  sign(q);
  auto const end = clock::now() + timeout;
  backoff pauses(milliseconds(50), milliseconds(1'000), incarnation_);
  for (;;) {
    auto calling = once(t, m, q, r, end);
    auto const status = co_await std::move(calling);
    check_cut(t);
    if (status.ok()) co_return std::nullopt;
    auto e = read_error(status);
    if (e.other_service) {
      fail(e);
      throw *error_;
    }
    auto const pause = pauses.next();
    if (!e.answered && e.code == coordination_code::deadline_exceeded) no_answer(timeout).raise();
    if (!e.passes() || a == again::no || clock::now() + pause >= end) co_return e;
    auto waiting = t.pause().wait_for(pause);
    co_await std::move(waiting);
    check_cut(t);
  }
}

/// Completion: the answer. Errors besides: what the service refused it with.
template <class Stub, class Request, class Response>
coro::task<Response> agent::answer(ticket& t, method<Stub, Request, Response> m, Request& q,
                                   milliseconds timeout, again a) {
  Response r;
  auto asking = ask(t, m, q, r, timeout, a);
  auto const refused = co_await std::move(asking);
  if (refused) refused->raise();
  co_return r;
}

}  // namespace muster::detail
