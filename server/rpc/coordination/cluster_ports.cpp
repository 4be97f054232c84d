#include "server/rpc/coordination/cluster_ports.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include "base/text.hpp"
#include "server/net/incoming.hpp"
#include "server/net/loopback_pair.hpp"
#include "server/rpc/proxied_peers.hpp"

namespace muster::server {

namespace coordination = core::coordination;
using coordination::cluster_id;
using net::accepted_socket;

namespace {

// Gives every connection a descriptor number that was not used recently. gRPC 1.51 identifies a
// call's connection only by this number. With the lowest free number, a pending call of a closed
// connection would be attributed to the next connection.
class file_numbers {
 public:
  file_descriptor renumber(file_descriptor fd) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      int const other = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, next_);
      if (other >= 0) {
        next_ = other + 1;
        return file_descriptor(other);
      }
      next_ = first;
    }
    return fd;
  }

 private:
  static constexpr int first = 512;
  int next_ = first;
};

}  // namespace

struct cluster_ports::state {
  struct connection {
    cluster_id cluster{};
    std::string peer, client;  // see net::accepted_socket
    std::uint16_t port = 0;
    bool tls = false;
    bool let_in = false;  // authorized by the caller of dial()
  };
  struct opened {
    std::string name;
    std::string address;
    std::uint16_t port = 0;
    std::uint32_t listener = 0;
    bool tls = false;
  };

  state(coordination_hub& h, net::accepting_server& s, cluster_ports_options o)
      : hub(h), server(s), options(std::move(o)) {}

  // Connections that arrive after the port was closed are dropped.
  void adopt(cluster_id cluster, accepted_socket a) {
    if (stopped || server.stopping() || !ports.contains(cluster)) return;
    auto const& port = ports.at(cluster);
    auto const fd = numbers.renumber(std::move(a.socket)).release();
    auto& c = connections[fd];
    if (c.tls) forget(c.peer, fd);
    c = {cluster, std::move(a.peer), std::move(a.client), port.port, port.tls};
    if (!c.tls) return server.adopt(fd, c.client);
    drop_ended(c.peer);
    by_peer.emplace(c.peer, fd);
    options.accepted(fd, c.peer);
    server.adopt_tls(fd, c.client);
  }

  void forget(std::string const& peer, int fd) {
    auto const [first, last] = by_peer.equal_range(peer);
    for (auto it = first; it != last; ++it)
      if (it->second == fd) return void(by_peer.erase(it));
  }

  // A client's port can be connected to several ports of this server, and another client can soon
  // reuse it.
  void drop_ended(std::string const& peer) {
    auto [it, last] = by_peer.equal_range(peer);
    while (it != last)
      it = is_open(it->second, connections.at(it->second)) ? std::next(it) : by_peer.erase(it);
  }

  // Checks a descriptor that gRPC owns and that can already be closed or reused.
  static bool is_open(int fd, connection const& c) {
    return net::endpoint_of(fd, ::getsockname).port() == c.port &&
           net::text_of(net::endpoint_of(fd)) == c.peer;
  }

  bool speaks_tls(cluster_id cluster) const {
    auto const& spec = hub.state().spec(cluster);
    bool const for_agents = spec.size() > 0;
    return options.tls && (!for_agents || spec.agents == coordination::agent_wire::tls);
  }

  muster::result<net::port_listener::listening> listen(cluster_id cluster, std::uint16_t port) {
    auto accepted = [this, cluster](accepted_socket a) {
      auto& engine = server.engine();
      engine.post([this, cluster, a = std::move(a)]() mutable { adopt(cluster, std::move(a)); });
    };
    return server.listener().listen(socket_name(cluster), options.address, port,
                                    std::move(accepted),
                                    speaks_tls(cluster) ? net::wire::tls : net::wire::plaintext);
  }

  // Returns the name under which the next server process finds the socket.
  std::string socket_name(cluster_id cluster) const {
    return "cluster-" + hub.state().spec(cluster).name;
  }

  // gRPC 1.51 identifies TLS connections only by their peer. If the peer is connected to several
  // ports, the port in the call's authority decides. If no connection has this port, the last
  // connection is used.
  connection const* tls_connection_of(grpc::ServerContext const& context) const {
    if (by_peer.empty()) return nullptr;
    auto const [first, last] = by_peer.equal_range(readable_peer(context.peer()));
    auto const authority = context.ExperimentalGetAuthority();
    auto const dialled = port_of({authority.data(), authority.size()});
    connection const* found = nullptr;
    for (auto it = first; it != last; ++it) {
      found = &connections.at(it->second);
      if (found->port == dialled) return found;
    }
    return dialled != 0 && dialled == port_of(main_address) ? nullptr : found;
  }

  static std::uint16_t port_of(std::string_view address) {
    std::uint16_t port = 0;
    auto const colon = std::min(address.rfind(':'), address.size() - 1);
    if (!address.empty())
      std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
    return port;
  }

  connection const* own_connection_of(grpc::ServerContext const& context) const {
    if (ports.empty() && connections.empty()) return nullptr;
    auto const peer = context.peer();
    return peer.starts_with("fd:") ? connection_of(peer) : tls_connection_of(context);
  }

  connection const* connection_of(std::string_view peer) const {
    auto const it = connections.find(net::adopted_socket(peer));
    return it == connections.end() ? nullptr : &it->second;
  }

  muster::result<cluster_id> main() const {
    if (auto const found = hub.state().find(options.main_cluster)) return found;
    return muster::status{muster::code::not_found,
                          "this port belongs to cluster '" + options.main_cluster +
                              "', which does not exist: declare it with POST /api/v1/clusters"};
  }

  // The authority "alpha.example:8476" selects the cluster alpha. An IP address selects the main
  // cluster.
  muster::result<cluster_id> by_authority(grpc::string_ref authority) const {
    std::string_view const name(authority.data(), authority.size());
    auto const host = name.substr(0, name.rfind(':'));
    if (host.find_first_not_of("0123456789.") == std::string_view::npos) return main();
    if (auto const whole = hub.state().find(host)) return whole;
    auto const label = hub.state().find(host.substr(0, host.find('.')));
    return label ? label : main();
  }

  bool is_taken(std::uint16_t port) const {
    return std::any_of(ports.begin(), ports.end(),
                       [port](auto const& p) { return p.second.port == port; });
  }

  // Prefers the port from before a restart, because the cluster's agents connect to it.
  muster::result<net::port_listener::listening> listen(cluster_id cluster) {
    auto const before = hub.state().port(cluster);
    bool const allowed =
        options.port_first == 0 || (before >= options.port_first && before <= options.port_last);
    if (before != 0 && allowed && !is_taken(before))
      if (auto bound = listen(cluster, before)) return bound;
    if (options.port_first == 0) return listen(cluster, 0);
    muster::status last{
        muster::code::resource_exhausted,
        "all ports of --cluster-ports " + std::to_string(options.port_first) + "-" +
            std::to_string(options.port_last) +
            " are used by clusters: remove a cluster, or start the server with more ports"};
    for (std::uint32_t port = options.port_first; port <= options.port_last; ++port) {
      auto const wanted = static_cast<std::uint16_t>(port);
      if (is_taken(wanted)) continue;
      auto bound = listen(cluster, wanted);
      if (bound) return bound;
      last = bound.error();
    }
    return last;
  }

  coordination_hub& hub;
  net::accepting_server& server;
  cluster_ports_options const options;
  std::string main_address;
  std::map<cluster_id, opened> ports;
  // Indexed by descriptor. An entry is replaced when its descriptor is reused. Bounded by the
  // process's limit of descriptors.
  std::unordered_map<int, connection> connections;
  std::unordered_multimap<std::string, int> by_peer;  // TLS connections by peer
  file_numbers numbers;
  proxied_peers proxied;  // used for the main port
  bool stopped = false;
};

cluster_ports::cluster_ports(coordination_hub& hub, net::accepting_server& server,
                             cluster_ports_options options)
    : state_(std::make_unique<state>(hub, server, std::move(options))) {}
cluster_ports::~cluster_ports() = default;

void cluster_ports::set_main_address(std::string address) {
  state_->main_address = std::move(address);
}

muster::result<std::string> cluster_ports::open(cluster_id cluster) {
  auto& s = *state_;
  auto const& spec = s.hub.state().spec(cluster);
  auto const& name = spec.name;
  if (spec.agents == coordination::agent_wire::tls && !s.options.tls)
    return muster::status{
        muster::code::failed_precondition,
        "cluster " + name +
            ": agents=tls requires a server with TLS; add --tls-cert and --tls-key"};
  bool const tls = s.speaks_tls(cluster);
  if (name == s.options.main_cluster && tls == s.options.tls) return s.main_address;
  if (s.stopped) return muster::status{muster::code::failed_precondition, "the server is stopping"};
  if (auto const it = s.ports.find(cluster); it != s.ports.end()) return it->second.address;
  auto const bound = s.listen(cluster);
  if (!bound) return bound.error();
  bool const v6 = s.options.address.find(':') != std::string::npos;
  auto const host = v6 ? "[" + s.options.address + "]" : s.options.address;
  auto address = host + ":" + std::to_string(bound->port);
  s.ports[cluster] = {name, address, bound->port, bound->id, tls};
  s.hub.listens(cluster, bound->port);
  return address;
}

void cluster_ports::close(cluster_id cluster) {
  auto& s = *state_;
  if (auto const node = s.ports.extract(cluster)) s.server.listener().close(node.mapped().listener);
}

std::string cluster_ports::address(cluster_id cluster) const {
  auto const& s = *state_;
  if (auto const it = s.ports.find(cluster); it != s.ports.end()) return it->second.address;
  auto const main = s.hub.state().find(s.options.main_cluster);
  return main && *main == cluster ? s.main_address : std::string();
}

cluster_id cluster_ports::main() const {
  auto const found = state_->main();
  return found ? *found : cluster_id{};
}

muster::result<file_descriptor> cluster_ports::dial(cluster_id cluster,
                                                    grpc::ServerContext const& client) {
  auto& s = *state_;
  if (s.stopped || s.server.stopping())
    return muster::status{muster::code::unavailable, "the server is shutting down"};
  auto pair = net::loopback_pair();
  if (!pair)
    return muster::status{muster::code::resource_exhausted,
                          "the connection cannot be created: " + pair.error().message};
  auto const peer = net::text_of(net::endpoint_of(pair->served.get()));
  auto const of = peer_of(client);
  auto const fd = s.numbers.renumber(std::move(pair->served)).release();
  auto& c = s.connections[fd];
  if (c.tls) s.forget(c.peer, fd);
  c = {cluster, peer, of.substr(0, of.rfind(':')) + peer.substr(peer.rfind(':'))};
  c.let_in = true;
  s.server.adopt(fd);
  return std::move(pair->dialled);
}

void cluster_ports::stop() {
  state_->stopped = true;
  for (auto const& [cluster, port] : state_->ports) state_->server.listener().close(port.listener);
  state_->ports.clear();
}

muster::result<cluster_id> cluster_ports::cluster_of(grpc::ServerContext const& context) const {
  auto const& s = *state_;
  auto const* c = s.own_connection_of(context);
  if (s.ports.empty() && s.connections.empty()) return s.main();
  if (c == nullptr && !context.peer().starts_with("fd:"))
    return s.by_authority(context.ExperimentalGetAuthority());
  if (c != nullptr && s.hub.state().exists(c->cluster)) return c->cluster;
  return muster::status{muster::code::not_found, "the cluster of this port was removed"};
}

bool cluster_ports::is_authorized(grpc::ServerContext const& context) const {
  auto const* c = state_->connection_of(context.peer());
  return c != nullptr && c->let_in;
}

muster::result<cluster_id> cluster_ports::pool_of(grpc::ServerContext const& context) const {
  auto const& s = *state_;
  bool const plain = context.peer().starts_with("fd:");
  if (plain && s.options.tls)
    return muster::status{muster::code::failed_precondition,
                          "this port serves only agents without TLS; workers, sessions and blobs "
                          "use the --grpc port, with TLS"};
  auto const c = cluster_of(context);
  return c || plain || s.own_connection_of(context) != nullptr ? c
                                                               : muster::result<cluster_id>(main());
}

void cluster_ports::accepted_on_main(int socket, std::string const& peer,
                                     std::string const& client) {
  auto& s = *state_;
  s.proxied.accepted(socket, peer, client);
  if (s.options.tls) s.server.engine().post([&s, peer] { s.drop_ended(peer); });
}

std::string cluster_ports::connection_peer_of(grpc::ServerContext const& context) const {
  auto const peer = context.peer();
  auto const* c = state_->connection_of(peer);
  return c != nullptr ? c->peer : readable_peer(peer);
}

std::string cluster_ports::peer_of(grpc::ServerContext const& context) const {
  auto const* c = state_->own_connection_of(context);
  return c != nullptr ? c->client : state_->proxied.client_of(connection_peer_of(context));
}

std::string readable_peer(std::string const& peer) {
  auto const colon = peer.find(':');
  auto const scheme = peer.substr(0, colon);
  if (scheme != "ipv4" && scheme != "ipv6") return peer;
  auto const address = peer.substr(colon + 1);
  return percent_decoded(address, false).value_or(address);
}

}  // namespace muster::server
