#include "server/rpc/coordinator_service.hpp"

#include "coro/accept.hpp"
#include "muster/v1/coordinator.grpc.pb.h"
#include "server/rpc/session_stream.hpp"
#include "server/rpc/stream_list.hpp"

namespace muster::server {

struct coordinator_service::state {
  using method = v1::CoordinatorService::WithRawMethod_Session<v1::CoordinatorService::Service>;

  state(server::hub& h, coro::grpc_server& server, coordinator_service_options o)
      : hub(h),
        options(std::move(o)),
        streams("session stream", server.engine(), options.streams_max) {
    server.add_service(service);
    auto serve_call = [this](std::unique_ptr<session_stream::call> call) {
      return serve(std::move(call));
    };
    coro::accept_bidi(server, service, &method::RequestSession, {"session stream", 16},
                      streams.tasks(), serve_call);
  }

  coro::task<void> serve(std::unique_ptr<session_stream::call> call) {
    session_stream stream(hub, *call, options);
    if (streams.stopping()) stream.shut_down();
    auto const listed = streams.add(stream);
    co_await stream.run();
  }

  server::hub& hub;
  coordinator_service_options const options;
  method service;
  stream_list<session_stream> streams;
};

coordinator_service::coordinator_service(hub& hub, coro::grpc_server& server,
                                         coordinator_service_options options)
    : state_(std::make_unique<state>(hub, server, std::move(options))) {}

coordinator_service::~coordinator_service() = default;

coro::task<void> coordinator_service::stop() {
  return state_->streams.stop();
}

std::size_t coordinator_service::streams() const {
  return state_->streams.size();
}

}  // namespace muster::server
