#include "server/rpc/workers/rank_tunnels.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <map>
#include <optional>
#include <utility>

#include "coro/server_bidi.hpp"
#include "coro/socket_poller.hpp"
#include "coro/socket_tunnel.hpp"
#include "coro/timer_queue.hpp"
#include "muster/v1/programs.grpc.pb.h"
#include "server/rpc/call_access.hpp"
#include "server/rpc/status_convert.hpp"
#include "server/rpc/stream_list.hpp"

namespace muster::server {
namespace {

struct tunnel_home {
  pools& all;
  coordination_hub& clusters;
  cluster_ports& ports;
  tunnel_options const options;
  std::map<std::string, std::size_t> of_worker{};
  std::unique_ptr<coro::socket_poller> poller = {};
  store_dial to_store = {};
};

class rank_tunnel {
 public:
  using call = coro::server_bidi<v1::TunnelBytes, v1::TunnelBytes>;

  rank_tunnel(call& c, tunnel_home& home) : call_(c), home_(home), deadline_(c.engine()) {}
  ~rank_tunnel() {
    if (!counted_) return;
    auto const it = home_.of_worker.find(asked_.key());
    if (--it->second == 0) home_.of_worker.erase(it);
  }
  rank_tunnel(rank_tunnel const&) = delete;

  /// Completes when the call is finished. Does not fail. Cancelling cancels the call.
  coro::task<void> run() {
    using namespace boost::asio::experimental::awaitable_operators;
    v1::TunnelBytes message;
    deadline_.call_at(coro::timer::clock::now() + home_.options.first_message_timeout,
                      [this] { call_.cancel(); });
    bool const got = co_await call_.read(message);
    deadline_.cancel();
    asked_ = std::move(*message.mutable_open());
    auto const refused = got ? open() : invalid("open: must be the first message");
    if (!refused.ok()) {
      auto const status = to_grpc(refused);
      co_await call_.finish(status);
      co_return;
    }
    message.Clear();
    bool const told = co_await call_.write(message);
    if (!told) carried_->close();
    auto out = to_call();
    auto in = carried_->to_socket();
    co_await (std::move(out) && std::move(in));
  }

  void shut_down() { end({code::unavailable, "the server is shutting down"}); }

  void judge(core::program_id program) {
    if (!counted_ || core::program_id{asked_.program()} != program) return;
    if (auto const still = cluster(); !still) end(still.error());
  }

 private:
  muster::result<std::string> cluster() const {
    core::program_id const program{asked_.program()};
    return home_.all.of(program).programs().cluster_of(program, asked_.attempt(), asked_.key());
  }

  muster::status open() {
    auto const name = cluster();
    if (!name) return name.error();
    auto const id = home_.clusters.state().find(*name);
    if (!id) return id.error();
    auto& of_worker = home_.of_worker[asked_.key()];
    if (of_worker >= home_.options.worker_tunnels_max)
      return {code::resource_exhausted,
              "the worker has " + std::to_string(of_worker) + " tunnels, which is the limit"};
    ++of_worker;
    counted_ = true;
    auto socket = dial(*id);
    if (!socket) return socket.error();
    if (!home_.poller) home_.poller = std::make_unique<coro::socket_poller>();
    boost::asio::ip::tcp::socket ours(home_.poller->context());
    ours.assign(boost::asio::ip::tcp::v4(), socket->release());
    carried_.emplace(call_, std::move(ours));
    return {};
  }

  muster::result<file_descriptor> dial(core::coordination::cluster_id id) {
    if (!asked_.has_torch_rank()) return home_.ports.dial(id, call_.context());
    constexpr auto ranks_max = core::program_limits{}.ranks_max;
    if (asked_.torch_rank() >= ranks_max)
      return invalid("open.torch_rank: must be less than " + std::to_string(ranks_max) + ", got " +
                     std::to_string(asked_.torch_rank()));
    if (!home_.to_store)
      return muster::status{code::not_found, "this server does not provide TCPStores"};
    return home_.to_store(id, core::program_id{asked_.program()},
                          home_.ports.peer_of(call_.context()), asked_.torch_rank());
  }

  coro::task<void> to_call() {
    co_await carried_->to_call();
    carried_->close();  // stops the reads of to_socket, which may be writing
    co_await call_.finish(end_);
  }

  void end(muster::status const& why) {
    end_ = to_grpc(why);
    carried_ ? carried_->close() : call_.cancel();
  }

  call& call_;
  tunnel_home& home_;
  coro::timer deadline_;
  v1::OpenTunnel asked_;
  bool counted_ = false;
  grpc::Status end_;
  std::optional<coro::socket_tunnel<call, v1::TunnelBytes>> carried_;
};

class rank_tunnels final : public tunnel_service {
 public:
  rank_tunnels(tunnel_home home, coro::grpc_server& server)
      : home_(std::move(home)),
        streams_("rank tunnel", server.engine(), home_.options.tunnels_max) {
    server.add_service(service_);
    streams_.accept(server, service_, &service_type::RequestOpen,
                    {"rank tunnel", 16, needs(core::permission::work)}, home_);
  }

  void dial_stores_by(store_dial dial) override { home_.to_store = std::move(dial); }
  void judge(core::program_id program) override {
    streams_.for_each([program](rank_tunnel& t) { t.judge(program); });
  }
  coro::task<void> stop() override { return streams_.stop(); }

 private:
  using service_type = v1::TunnelService::AsyncService;

  tunnel_home home_;
  service_type service_;
  stream_list<rank_tunnel> streams_;
};

}  // namespace

std::unique_ptr<tunnel_service> serve_tunnels(pools& all, coordination_hub& clusters,
                                              cluster_ports& ports, coro::grpc_server& server,
                                              tunnel_options options) {
  return std::make_unique<rank_tunnels>(tunnel_home{all, clusters, ports, options}, server);
}

}  // namespace muster::server
