#include "server/rpc/coordination/agent_connections.hpp"

#include "server/net/incoming.hpp"

namespace muster::server {

namespace coordination = core::coordination;

agent_connections::agent_connections(coro::engine_context& engine, coordination_hub& hub)
    : engine_(engine),
      hub_(hub),
      ends_([this](std::uint64_t watch) { engine_.post([this, watch] { ended(watch); }); }) {}

void agent_connections::accepted(int socket, std::string const& peer) {
  std::lock_guard const lock(mutex_);
  auto const at = static_cast<std::size_t>(socket);
  if (at >= peers_.size()) peers_.resize(at + 1);
  if (auto const before = sockets_.find(peers_[at]);
      before != sockets_.end() && before->second == socket)
    sockets_.erase(before);
  peers_[at] = peer;
  sockets_[peer] = socket;
}

int agent_connections::socket_of(std::string const& peer, std::string const& grpc_peer) {
  if (int const socket = net::adopted_socket(grpc_peer); socket >= 0) return socket;
  std::lock_guard const lock(mutex_);
  auto const it = sockets_.find(peer);
  return it == sockets_.end() ? -1 : it->second;
}

void agent_connections::spoke(coordination::cluster_id cluster, coordination::task_index task,
                              core::incarnation incarnation, std::string const& peer,
                              std::string const& grpc_peer) {
  auto& c = agents_[{cluster, task}];
  c.incarnation = incarnation;
  if (c.peer == peer && c.watch != 0) return;
  ends_.forget(c.watch);
  watches_.erase(c.watch);
  c.peer = peer;
  c.watch = ends_.watch(socket_of(peer, grpc_peer), peer);
  if (c.watch != 0) watches_[c.watch] = {cluster, task};
}

void agent_connections::ended(std::uint64_t watch) {
  auto const node = watches_.extract(watch);
  if (!node) return;
  auto const [cluster, task] = node.mapped();
  auto const gone = agents_.extract(node.mapped());
  if (hub_.state().exists(cluster))
    hub_.connection_closed(cluster, task, gone.mapped().incarnation);
}

}  // namespace muster::server
