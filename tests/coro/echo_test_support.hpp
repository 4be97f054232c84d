// A server of the Echo service on its own engine, for tests of client calls.
#pragma once

#include <grpcpp/create_channel.h>
#include <grpcpp/security/server_credentials.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coro/accept.hpp"
#include "coro/client_bidi.hpp"
#include "coro/client_unary.hpp"
#include "coro/event.hpp"
#include "coro/timer_queue.hpp"
#include "echo.grpc.pb.h"
#include "tests/coro/engine_test_support.hpp"

namespace muster::coro::test {

using namespace std::chrono_literals;

using coro_test::Echo;
using coro_test::Ping;
using chat_call = server_bidi<Ping, Ping>;
using once_call = server_unary<Ping, Ping>;
using chat_client = client_bidi<Ping, Ping>;

inline auto chat_by(Echo::Stub& stub) {
  return [&stub](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
    return stub.PrepareAsyncChat(context, queue);
  };
}

inline Ping ping(std::int64_t id) {
  Ping p;
  p.set_id(id);
  return p;
}

inline task<void> echo_once(std::unique_ptr<once_call> call) {
  co_await call->finish(call->request());
}

inline task<void> echo_chat(std::unique_ptr<chat_call> call) {
  Ping message;
  while (bool const got = co_await call->read(message)) {
    bool const sent = got && co_await call->write(message);
    if (!sent) break;
  }
  co_await call->finish(grpc::Status::OK);
}

// Server and clients share the engine, so each test uses one thread.
struct echo_server {
  using maker = std::function<std::unique_ptr<grpc_server>(engine_context&, grpc::ServerBuilder&)>;

  // A server that listens itself.
  explicit echo_server(std::size_t calls_max = 1000, task_group::error_hook hook = fail_test)
      : echo_server(calls_max, std::move(hook), [](engine_context& e, grpc::ServerBuilder& b) {
          return std::make_unique<grpc_server>(e, b);
        }) {
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  }
  // A class derived from grpc_server, which provides the port when it starts.
  echo_server(std::size_t calls_max, task_group::error_hook hook, maker const& make)
      : engine(builder.AddCompletionQueue()),
        calls(engine.get_executor(), calls_max, std::move(hook)),
        made(make(engine, builder)) {
    server.add_service(service);
  }

  template <class Handler>
  void serve_once(Handler handler, std::size_t slots = 8) {
    accept_options options;
    options.name = "once";
    options.slots = slots;
    accept_unary(server, service, &Echo::AsyncService::RequestOnce, options, calls, handler);
  }

  template <class Handler>
  void serve_chat(Handler handler, std::size_t slots = 8) {
    accept_options options;
    options.name = "chat";
    options.slots = slots;
    accept_bidi(server, service, &Echo::AsyncService::RequestChat, options, calls, handler);
  }

  void start() {
    auto const started = server.start();
    ASSERT_TRUE(started) << started.error;
    if (!started.ports.empty()) port = started.ports.front();
    address = "127.0.0.1:" + std::to_string(port);
    stub = Echo::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  }

  // Runs `body` while the server runs, stops the server, and checks that nothing is left.
  void run(task<void> body) {
    run_to_end(engine, then_stop(std::move(body)));
    EXPECT_EQ(server.calls(), 0U);
    EXPECT_TRUE(calls.empty());
  }

  task<void> then_stop(task<void> body) {
    co_await std::move(body);
    co_await server.stop(1s);
    co_await calls.wait();
  }

  grpc::ServerBuilder builder;
  engine_context engine;
  Echo::AsyncService service;
  task_group calls;
  std::unique_ptr<grpc_server> made;
  grpc_server& server = *made;
  int port = 0;
  std::string address;
  std::unique_ptr<Echo::Stub> stub;
};

inline task<grpc::Status> call_once(echo_server& s, Ping& message) {
  grpc::ClientContext context;
  co_return co_await unary_call(s.engine, *s.stub, &Echo::Stub::PrepareAsyncOnce, context, message,
                                message);
}

}  // namespace muster::coro::test
