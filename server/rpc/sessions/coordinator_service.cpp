// The methods of the service, each handed to the stream or to the call that serves it.
#include "server/rpc/sessions/coordinator_service.hpp"

#include "coro/accept.hpp"
#include "muster/v1/coordinator.grpc.pb.h"
#include "server/rpc/sessions/coordinator_calls.hpp"
#include "server/rpc/sessions/session_stream.hpp"
#include "server/rpc/stream_list.hpp"

namespace muster::server {

struct coordinator_service::state {
  // The stream encodes and decodes by itself.
  using method =
      v1::CoordinatorService::WithRawMethod_Session<v1::CoordinatorService::AsyncService>;

  state(server::hub& h, coro::grpc_server& server, stream_options o)
      : hub(h),
        options(std::move(o)),
        streams("session stream", server.engine(), options.streams_max),
        calls(hub, server.engine(), options) {
    server.add_service(service);
    auto serve_call = [this](std::unique_ptr<session_stream::call> call) {
      return streams.serve(std::move(call), hub, options);
    };
    coro::accept_bidi(server, service, &method::RequestSession, {"session stream", 16},
                      streams.tasks(), serve_call);
    calls.accept(server, service);
  }

  coro::task<void> stop() {
    co_await calls.stop();
    co_await streams.stop();
  }

  server::hub& hub;
  stream_options const options;
  method service;
  stream_list<session_stream> streams;
  coordinator_calls calls;
};

coordinator_service::coordinator_service(hub& hub, coro::grpc_server& server,
                                         stream_options options)
    : state_(std::make_unique<state>(hub, server, std::move(options))) {}

coordinator_service::~coordinator_service() = default;

coro::task<void> coordinator_service::stop() {
  return state_->stop();
}

std::size_t coordinator_service::streams() const {
  return state_->streams.size();
}

}  // namespace muster::server
