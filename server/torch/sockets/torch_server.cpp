#include "server/torch/sockets/torch_server.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <map>
#include <set>
#include <thread>

#include "server/net/incoming.hpp"
#include "server/torch/sockets/served_store.hpp"

namespace muster::torch {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

struct torch_server::state {
  explicit state(torch_server_options o) : options(std::move(o)), all(context, options) {}

  torch_server_options const options;
  asio::io_context context{1};
  serving all;
  std::map<std::uint64_t, std::shared_ptr<served_store>> stores;  // used only on the store thread
  std::map<std::uint64_t, std::string> addresses;                 // used only on the engine thread
  std::set<std::uint64_t> carried;                                // used only on the engine thread
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::thread thread;
  bool stopped = false;  // used only on the engine thread
};

torch_server::torch_server(torch_server_options options)
    : state_(std::make_unique<state>(std::move(options))) {}

torch_server::~torch_server() {
  stop();
}

muster::result<std::string> torch_server::open(std::uint64_t cluster, std::string const& name,
                                               store_spec const& where) {
  auto& s = *state_;
  error_code ec;
  auto const& host = where.address.empty() ? s.options.address : where.address;
  auto const ip = asio::ip::make_address(host, ec);
  tcp::acceptor acceptor(s.context);
  if (!ec) acceptor.open(tcp::endpoint(ip, where.port).protocol(), ec);
  if (!ec) acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor.bind(tcp::endpoint(ip, where.port), ec);
  if (!ec) acceptor.listen(asio::socket_base::max_listen_connections, ec);
  if (!ec) acceptor.non_blocking(true, ec);
  if (ec)
    return muster::status{muster::code::failed_precondition,
                          net::listen_failure(host + ":" + std::to_string(where.port), ec)};
  auto address = net::text_of(acceptor.local_endpoint());
  s.addresses[cluster] = address;
  auto store = std::make_shared<served_store>(s.all, name, where.early, std::move(acceptor));
  asio::post(s.context, [&s, cluster, store] {
    if (s.all.stopping) return;
    s.stores[cluster] = store;
    store->start();
  });
  return address;
}

void torch_server::begin(std::uint64_t cluster, carried_store const& what) {
  auto& s = *state_;
  if (s.stopped) return;
  s.carried.insert(cluster);
  asio::post(s.context, [&s, cluster, what] {
    if (s.all.stopping) return;
    auto& store = s.stores[cluster];
    if (!store)
      store =
          std::make_shared<served_store>(s.all, what.name, what.early, tcp::acceptor(s.context));
    store->tcp_store().begin_attempt(attempt_cause::launched, s.options.now());
    store->tcp_store().expect(what.ranks);
  });
}

muster::result<file_descriptor> torch_server::dial(std::uint64_t cluster, carried_store const& what,
                                                   std::string peer, std::uint32_t rank) {
  auto& s = *state_;
  if (!has(cluster)) begin(cluster, what);
  auto pair = net::loopback_pair();
  if (!pair)
    return muster::status{muster::code::resource_exhausted,
                          "the connection cannot be created: " + pair.error().message};
  asio::post(s.context, [&s, cluster, peer = std::move(peer), rank,
                         served = std::move(pair->served)]() mutable {
    auto const it = s.stores.find(cluster);
    if (it != s.stores.end()) it->second->adopt(std::move(served), std::move(peer), rank);
  });
  return std::move(pair->dialled);
}

bool torch_server::has(std::uint64_t cluster) const {
  return state_->carried.contains(cluster) || state_->addresses.contains(cluster);
}

void torch_server::close(std::uint64_t cluster) {
  auto& s = *state_;
  if (s.addresses.erase(cluster) + s.carried.erase(cluster) == 0) return;
  asio::post(s.context, [&s, cluster] {
    if (auto const node = s.stores.extract(cluster)) node.mapped()->close();
  });
}

std::string torch_server::address(std::uint64_t cluster) const {
  auto const it = state_->addresses.find(cluster);
  return it == state_->addresses.end() ? std::string() : it->second;
}

void torch_server::visit(std::uint64_t cluster, std::function<void(tcp_store*)> f) {
  auto& s = *state_;
  if (s.stopped) return;
  asio::post(s.context, [&s, cluster, f = std::move(f)] {
    auto const it = s.stores.find(cluster);
    f(it == s.stores.end() ? nullptr : &it->second->tcp_store());
  });
}

void torch_server::start(std::function<std::thread(std::function<void()>)> const& thread) {
  state_->thread = thread([this] { state_->context.run(); });
}

void torch_server::stop() {
  auto& s = *state_;
  if (std::exchange(s.stopped, true)) return;
  asio::post(s.context, [&s] {
    s.all.stopping = true;
    for (auto const& [cluster, store] : s.stores) store->close();
    s.stores.clear();
    s.work.reset();
  });
  if (s.thread.joinable())
    s.thread.join();
  else
    s.context.run();
}

}  // namespace muster::torch
