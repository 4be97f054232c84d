// Accepts the calls of muster.v1.BlobService.
#include "muster/v1/blobs.grpc.pb.h"
#include "server/rpc/blobs/blob_calls.hpp"
#include "server/rpc/call_access.hpp"
#include "server/rpc/status_convert.hpp"
#include "server/rpc/stream_list.hpp"
#include "server/rpc/stream_service.hpp"

namespace muster::server {
namespace {

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
    co_await call->finish(answer, grpc::Status::OK);
  }

  blob_store& store_;
  blob_call_options const options_;
  service_type service_;
  stream_list<blob_put> puts_;
  stream_list<blob_get> gets_;
};

}  // namespace

std::unique_ptr<stream_service> serve_blobs(blob_store& store, coro::grpc_server& server) {
  return std::make_unique<blob_service>(store, server);
}

}  // namespace muster::server
