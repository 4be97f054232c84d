// Accepts the streams and calls of the services, and has each served by an object of its own.
#include "server/rpc/stream_service.hpp"

#include "muster/v1/blobs.grpc.pb.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "muster/v1/worker.grpc.pb.h"
#include "server/rpc/blobs/blob_calls.hpp"
#include "server/rpc/call_access.hpp"
#include "server/rpc/sessions/coordinator_calls.hpp"
#include "server/rpc/sessions/session_stream.hpp"
#include "server/rpc/status_convert.hpp"
#include "server/rpc/stream_list.hpp"
#include "server/rpc/workers/worker_connection.hpp"

namespace muster::server {
namespace {

// The streams encode and decode by themselves.
using worker_methods = v1::WorkerService::WithRawMethod_Attach<v1::WorkerService::Service>;
using session_methods =
    v1::CoordinatorService::WithRawMethod_Session<v1::CoordinatorService::AsyncService>;

template <class Stream, class Service>
class streams_of_pools : public stream_service {
 public:
  template <class Method>
  streams_of_pools(pools& all, coro::grpc_server& server, stream_options o, Method method,
                   coro::accept_options accepted)
      : pools_(all),
        options_(std::move(o)),
        streams_(accepted.name, server.engine(), options_.streams_max) {
    server.add_service(service_);
    streams_.accept(server, service_, method, std::move(accepted), pools_, options_);
  }

  coro::task<void> stop() override { return streams_.stop(); }

 protected:
  pools& pools_;
  stream_options const options_;
  Service service_;

 private:
  stream_list<Stream> streams_;
};

class coordinator_service final : public streams_of_pools<session_stream, session_methods> {
 public:
  coordinator_service(pools& all, coro::grpc_server& server, stream_options o)
      : streams_of_pools(all, server, std::move(o), &session_methods::RequestSession,
                         {"session stream", 16, needs(core::permission::submit)}),
        calls_(pools_, server.engine(), options_) {
    calls_.accept(server, service_);
  }

  coro::task<void> stop() override {
    co_await calls_.stop();
    co_await streams_of_pools::stop();
  }

 private:
  coordinator_calls calls_;
};

constexpr int asked_at_once_max = 1'000;

class blob_service final : public stream_service {
 public:
  blob_service(blob_store& store, coro::grpc_server& server)
      : store_(store),
        puts_("blob put", server.engine(), options_.calls_max),
        gets_("blob get", server.engine(), options_.calls_max) {
    server.add_service(service_);
    auto const shared = needs(core::permission::share);
    puts_.accept(server, service_, &service_type::RequestPut, {"blob put", 16, shared}, store_,
                 options_);
    gets_.accept(server, service_, &service_type::RequestGet, {"blob get", 16, shared}, store_,
                 options_);
    auto on_has = [this](std::unique_ptr<has_call> call) { return has(std::move(call)); };
    coro::accept_unary(server, service_, &service_type::RequestHas, {"blob has", 4, shared},
                       gets_.tasks(), on_has);
  }

  coro::task<void> stop() override {
    co_await puts_.stop();
    co_await gets_.stop();
  }

 private:
  using service_type = v1::BlobService::AsyncService;
  using has_call = coro::server_unary<v1::HasBlobs, v1::BlobsThere>;

  coro::task<void> has(std::unique_ptr<has_call> call) {
    v1::BlobsThere answer;
    auto const& asked = call->request();
    if (asked.sha256_size() > asked_at_once_max) {
      auto const many = to_grpc(invalid("sha256: " + std::to_string(asked.sha256_size()) +
                                        " of them, the limit is 1000"));
      co_await call->finish(many);
      co_return;
    }
    for (auto const& hash : asked.sha256()) answer.add_there(store_.lease(hash));
    answer.set_blob_bytes_max(store_.limits().blob_bytes_max);
    co_await call->finish(answer);
  }

  blob_store& store_;
  blob_call_options const options_;
  service_type service_;
  stream_list<blob_put> puts_;
  stream_list<blob_get> gets_;
};

}  // namespace

std::unique_ptr<stream_service> serve_workers(pools& all, coro::grpc_server& server,
                                              stream_options options) {
  return std::make_unique<streams_of_pools<worker_connection, worker_methods>>(
      all, server, std::move(options), &worker_methods::RequestAttach,
      coro::accept_options{"worker stream", 64, needs(core::permission::work)});
}

std::unique_ptr<stream_service> serve_sessions(pools& all, coro::grpc_server& server,
                                               stream_options options) {
  return std::make_unique<coordinator_service>(all, server, std::move(options));
}

std::unique_ptr<stream_service> serve_blobs(blob_store& store, coro::grpc_server& server) {
  return std::make_unique<blob_service>(store, server);
}

}  // namespace muster::server
