// The methods of the service, each handed to the stream or to the call that serves it.
#include "muster/v1/coordinator.grpc.pb.h"
#include "server/rpc/sessions/coordinator_calls.hpp"
#include "server/rpc/sessions/session_stream.hpp"
#include "server/rpc/stream_list.hpp"
#include "server/rpc/stream_service.hpp"

namespace muster::server {
namespace {

class coordinator_service final : public stream_service {
 public:
  coordinator_service(pools& all, coro::grpc_server& server, stream_options o)
      : pools_(all),
        options_(std::move(o)),
        streams_("session stream", server.engine(), options_.streams_max),
        calls_(pools_, server.engine(), options_) {
    server.add_service(service_);
    streams_.accept(server, service_, &method::RequestSession,
                    {"session stream", 16, needs(core::permission::submit)}, pools_, options_);
    calls_.accept(server, service_);
  }

  coro::task<void> stop() override {
    co_await calls_.stop();
    co_await streams_.stop();
  }

 private:
  // The stream encodes and decodes by itself.
  using method =
      v1::CoordinatorService::WithRawMethod_Session<v1::CoordinatorService::AsyncService>;

  pools& pools_;
  stream_options const options_;
  method service_;
  stream_list<session_stream> streams_;
  coordinator_calls calls_;
};

}  // namespace

std::unique_ptr<stream_service> serve_sessions(pools& all, coro::grpc_server& server,
                                               stream_options options) {
  return std::make_unique<coordinator_service>(all, server, std::move(options));
}

}  // namespace muster::server
