// Accepts the streams and has each served by a worker_session.
#include "muster/v1/worker.grpc.pb.h"
#include "server/rpc/call_access.hpp"
#include "server/rpc/stream_list.hpp"
#include "server/rpc/stream_service.hpp"
#include "server/rpc/workers/worker_session.hpp"

namespace muster::server {
namespace {

class worker_service final : public stream_service {
 public:
  worker_service(pools& all, coro::grpc_server& server, stream_options o)
      : pools_(all),
        options_(std::move(o)),
        streams_("worker stream", server.engine(), options_.streams_max) {
    server.add_service(service_);
    streams_.accept(server, service_, &method::RequestAttach,
                    {"worker stream", 64, needs(core::permission::work)}, pools_, options_);
  }

  coro::task<void> stop() override { return streams_.stop(); }

 private:
  using method = v1::WorkerService::WithRawMethod_Attach<v1::WorkerService::Service>;

  pools& pools_;
  stream_options const options_;
  method service_;
  stream_list<worker_session> streams_;
};

}  // namespace

std::unique_ptr<stream_service> serve_workers(pools& all, coro::grpc_server& server,
                                              stream_options options) {
  return std::make_unique<worker_service>(all, server, std::move(options));
}

}  // namespace muster::server
