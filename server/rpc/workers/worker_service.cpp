// Accepts the streams and has each served by a worker_session.
#include "server/rpc/workers/worker_service.hpp"

#include "coro/accept.hpp"
#include "muster/v1/worker.grpc.pb.h"
#include "server/rpc/stream_list.hpp"
#include "server/rpc/workers/worker_session.hpp"

namespace muster::server {

struct worker_service::state {
  using method = v1::WorkerService::WithRawMethod_Attach<v1::WorkerService::Service>;

  state(server::hub& h, coro::grpc_server& server, stream_options o)
      : hub(h),
        options(std::move(o)),
        streams("worker stream", server.engine(), options.streams_max) {
    server.add_service(service);
    auto serve_call = [this](std::unique_ptr<worker_session::call> call) {
      return streams.serve(std::move(call), hub, options);
    };
    coro::accept_bidi(server, service, &method::RequestAttach, {"worker stream", 64},
                      streams.tasks(), serve_call);
  }

  server::hub& hub;
  stream_options const options;
  method service;
  stream_list<worker_session> streams;
};

worker_service::worker_service(hub& hub, coro::grpc_server& server, stream_options options)
    : state_(std::make_unique<state>(hub, server, std::move(options))) {}

worker_service::~worker_service() = default;

coro::task<void> worker_service::stop() {
  return state_->streams.stop();
}

std::size_t worker_service::streams() const {
  return state_->streams.size();
}

}  // namespace muster::server
