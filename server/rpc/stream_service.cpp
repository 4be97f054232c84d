#include "server/rpc/stream_service.hpp"

#include "muster/v1/blobs.grpc.pb.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "muster/v1/worker.grpc.pb.h"
#include "server/rpc/blobs/blob_calls.hpp"
#include "server/rpc/blobs/hold_stream.hpp"
#include "server/rpc/call_access.hpp"
#include "server/rpc/sessions/coordinator_calls.hpp"
#include "server/rpc/sessions/session_stream.hpp"
#include "server/rpc/status_convert.hpp"
#include "server/rpc/stream_list.hpp"
#include "server/rpc/workers/worker_connection.hpp"

namespace muster::server {
namespace {

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
// Maximum number of tickets per value for holders on other hosts.
constexpr int tickets_max = 3;
// A value and the closure that refers to it are announced on different streams, so the value's
// announcement may arrive later.
constexpr auto announcement_timeout = std::chrono::seconds(1);
constexpr std::chrono::milliseconds locate_interval{1}, located_every_max{64};

grpc::Status too_many(std::string const& field, int asked) {
  return to_grpc(invalid(field + ": " + std::to_string(asked) + " entries, the limit is " +
                         std::to_string(asked_at_once_max)));
}

class blob_service final : public stream_service {
 public:
  blob_service(blob_store& store, coro::grpc_server& server, gate const* who)
      : store_(store),
        who_(who),
        puts_("blob put", server.engine(), options_.calls_max),
        gets_("blob get", server.engine(), options_.calls_max),
        holds_("blob hold", server.engine(), holds_max) {
    server.add_service(service_);
    auto const shared = needs(core::permission::share);
    puts_.accept(server, service_, &service_type::RequestPut, {"blob put", 16, shared}, store_,
                 options_, who_);
    gets_.accept(server, service_, &service_type::RequestGet, {"blob get", 16, shared}, store_,
                 options_);
    auto on_has = [this](std::unique_ptr<has_call> call) { return has(std::move(call)); };
    coro::accept_unary(server, service_, &service_type::RequestHas, {"blob has", 4, shared},
                       gets_.tasks(), on_has);
    auto on_locate = [this](std::unique_ptr<locate_call> call) { return locate(std::move(call)); };
    coro::accept_unary(server, service_, &service_type::RequestLocate, {"blob locate", 16, shared},
                       gets_.tasks(), on_locate);
    holds_.accept(server, service_, &service_type::RequestHold, {"blob hold", 16, shared}, store_,
                  who_);
  }

  coro::task<void> stop() override {
    co_await puts_.stop();
    stopping_ = true;
    co_await gets_.stop();
    co_await holds_.stop();
  }

 private:
  /// Maximum number of processes that hold values. Further processes receive RESOURCE_EXHAUSTED and
  /// must upload their values.
  static constexpr std::size_t holds_max = 20'000;
  using service_type = v1::BlobService::WithRawMethod_Hold<v1::BlobService::AsyncService>;
  using locate_call = coro::server_unary<v1::LocateRequest, v1::LocateResponse>;
  using has_call = coro::server_unary<v1::HasBlobs, v1::BlobsThere>;

  coro::task<void> has(std::unique_ptr<has_call> call) {
    v1::BlobsThere answer;
    auto const& asked = call->request();
    if (asked.sha256_size() > asked_at_once_max) {
      auto const many = too_many("sha256", asked.sha256_size());
      co_await call->finish(many);
      co_return;
    }
    for (auto const& hash : asked.sha256()) answer.add_there(store_.lease(hash));
    answer.set_blob_bytes_max(store_.limits().blob_bytes_max);
    co_await call->finish(answer);
  }

  coro::task<void> locate(std::unique_ptr<locate_call> call) {
    auto const& asked = call->request();
    if (asked.name_size() > asked_at_once_max) {
      auto const many = too_many("name", asked.name_size());
      co_await call->finish(many);
      co_return;
    }
    if (auto const wrong = check_host(asked.host()); !wrong.ok()) {
      auto const status = to_grpc(wrong);
      co_await call->finish(status);
      co_return;
    }
    auto const end = coro::timer::clock::now() + announcement_timeout;
    coro::timer pause(call->engine());
    std::vector<std::string const*> unknown;
    for (auto const& name : asked.name()) unknown.push_back(&name);
    for (auto wait = locate_interval;; wait = std::min(2 * wait, located_every_max)) {
      std::erase_if(unknown, [this](auto const* name) { return is_known(*name); });
      if (unknown.empty() || stopping_ || coro::timer::clock::now() >= end) break;
      co_await pause.wait_for(wait);
    }
    v1::LocateResponse answer;
    for (auto const& name : asked.name()) tell_place(name, asked, *answer.add_place());
    co_await call->finish(answer);
  }

  bool is_known(std::string const& name) const {
    return store_.size_of(name) || store_.holders().knows(name);
  }

  // Each ticket requires a message to the holder. Therefore few tickets are issued, and none if a
  // process on the caller's host holds the value.
  void tell_place(std::string const& name, v1::LocateRequest const& asked, v1::BlobPlace& told) {
    auto const size = store_.size_of(name);
    told.set_at_server(size.has_value());
    if (size) told.set_size(*size);
    auto const* held = store_.holders().table().find(name);
    if (!held) return;
    told.set_size(held->size);
    told.set_may_copy(held->output);
    auto const places = store_.holders().places(name, asked.host());
    bool const near = places.front().same_host;
    auto tickets = asked.peers() && !near ? tickets_max : 0;
    for (auto const& p : places) {
      v1::BlobHolder h;
      if (!p.other_host) h.set_unix_socket(p.socket);
      if (tickets > 0 && tell_peer(name, p.by, h)) --tickets;
      if (!h.unix_socket().empty() || !h.ticket().empty()) told.add_holder()->Swap(&h);
    }
    told.set_unix_socket(places.front().socket);
    if (told.holder().empty()) return;
    auto const& first = told.holder(0);
    told.set_peer(first.peer());
    told.set_certificate(first.certificate());
    told.set_ticket(first.ticket());
  }

  bool tell_peer(std::string const& name, core::holder_id from, v1::BlobHolder& told) {
    auto const ticket = store_.holders().give_ticket(name, from);
    if (!ticket) return false;
    told.set_peer(ticket->at.address);
    told.set_certificate(ticket->at.certificate);
    told.set_ticket(ticket->bytes);
    return true;
  }

  blob_store& store_;
  gate const* who_;
  blob_call_options const options_;
  bool stopping_ = false;
  service_type service_;
  stream_list<blob_put> puts_;
  stream_list<blob_get> gets_;
  stream_list<hold_stream> holds_;
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

std::unique_ptr<stream_service> serve_blobs(blob_store& store, coro::grpc_server& server,
                                            gate const* who) {
  return std::make_unique<blob_service>(store, server, who);
}

}  // namespace muster::server
