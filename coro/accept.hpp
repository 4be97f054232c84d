// Serves the methods of a generated AsyncService with coroutines.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>

#include <boost/asio/this_coro.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coro/grpc_server.hpp"
#include "coro/rpc_tag.hpp"
#include "coro/server_bidi.hpp"
#include "coro/server_unary.hpp"
#include "coro/task_group.hpp"
#include "coro/timer_queue.hpp"

namespace muster::coro {

struct accept_options {
  std::string name;
  std::size_t slots = 64;  // number of calls that can arrive between two engine turns without
                           // waiting
  int needs = 0;
};

template <class Owner, class Request, class Response>
using bidi_method = void (Owner::*)(grpc::ServerContext*,
                                    grpc::ServerAsyncReaderWriter<Response, Request>*,
                                    grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*);
template <class Owner, class Request, class Response>
using unary_method = void (Owner::*)(grpc::ServerContext*, Request*,
                                     grpc::ServerAsyncResponseWriter<Response>*,
                                     grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*);

template <class Call, class Post, class Handler>
class acceptor final : public acceptor_base {
 public:
  acceptor(grpc_server& server, Post post, accept_options options, task_group& calls,
           Handler handler)
      : server_(server),
        post_(std::move(post)),
        options_(std::move(options)),
        calls_(calls),
        handler_(std::move(handler)) {}

  void post_slots() override {
    for (std::size_t i = 0; i < options_.slots; ++i)
      slots_.emplace_back(std::make_unique<slot>(*this))->request_call();
  }

 private:
  struct slot final : rpc_tag {
    explicit slot(acceptor& a) : owner(a) {}

    void request_call() {
      state = std::make_unique<typename Call::state>(owner.server_);
      owner.server_.engine().op_started();
      owner.post_(*state, static_cast<rpc_tag*>(this));
    }

    void complete(bool ok) override {
      owner.server_.engine().op_returned();
      auto taken = std::move(state);
      if (!ok) return;
      taken->accepted();
      if (!owner.server_.stopping()) request_call();
      owner.serve(std::move(taken));
    }

    acceptor& owner;
    std::unique_ptr<typename Call::state> state;
  };

  void serve(std::unique_ptr<typename Call::state> state) {
    auto admitted = server_.admit(*state, options_.needs, options_.name);
    if (!admitted.status.ok()) return refuse(std::move(state), std::move(admitted));
    if (calls_.full()) {
      server_call_state::abandon(std::move(state),
                                 grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                                              "too many concurrent calls to " + options_.name));
      return;
    }
    calls_.spawn(options_.name, run(std::make_unique<Call>(std::move(state))));
  }

  void refuse(std::unique_ptr<typename Call::state> state, admission a) {
    if (a.delay.count() == 0 || calls_.full())
      return server_call_state::abandon(std::move(state), a.status);
    calls_.spawn(options_.name,
                 refuse_later(std::make_unique<Call>(std::move(state)), std::move(a)));
  }

  task<void> refuse_later(std::unique_ptr<Call> call, admission a) {
    co_await asio::this_coro::throw_if_cancelled(false);
    timer pause(server_.engine());
    call->on_cancel([&pause] { pause.cancel(); });
    co_await pause.wait_for(a.delay);
    call->abandon(a.status);
  }

  // The operations of a cancelled call complete with false, so the handler always runs its cleanup.
  task<void> run(std::unique_ptr<Call> call) {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await handler_(std::move(call));
  }

  grpc_server& server_;
  Post post_;
  accept_options const options_;
  task_group& calls_;
  Handler handler_;
  std::vector<std::unique_ptr<slot>> slots_;
};

// @param handler Takes std::unique_ptr<server_bidi<Request, Response>> and returns task<void>. If
//   the handler throws or returns without finishing the call, the client receives INTERNAL, and the
//   error hook of `calls` receives the exception.
// @param calls Group of the handlers. While the group is full, clients receive RESOURCE_EXHAUSTED.
// @pre server.start() has not been called. `service` and `calls` outlive the server.
template <class Service, class Owner, class Request, class Response, class Handler>
void accept_bidi(grpc_server& server, Service& service,
                 bidi_method<Owner, Request, Response> method, accept_options options,
                 task_group& calls, Handler handler) {
  using call = server_bidi<Request, Response>;
  auto post = [&server, &service, method](typename call::state& state, void* tag) {
    auto& queue = server.engine().server_queue();
    (service.*method)(&state.context, &state.stream, &queue, &queue, tag);
  };
  server.add_acceptor(std::make_unique<acceptor<call, decltype(post), Handler>>(
      server, post, std::move(options), calls, std::move(handler)));
}

// Behaves like accept_bidi, except that `handler` takes std::unique_ptr<server_unary<Request,
// Response>>.
template <class Service, class Owner, class Request, class Response, class Handler>
void accept_unary(grpc_server& server, Service& service,
                  unary_method<Owner, Request, Response> method, accept_options options,
                  task_group& calls, Handler handler) {
  using call = server_unary<Request, Response>;
  auto post = [&server, &service, method](typename call::state& state, void* tag) {
    auto& queue = server.engine().server_queue();
    (service.*method)(&state.context, &state.request, &state.responder, &queue, &queue, tag);
  };
  server.add_acceptor(std::make_unique<acceptor<call, decltype(post), Handler>>(
      server, post, std::move(options), calls, std::move(handler)));
}

}  // namespace muster::coro
