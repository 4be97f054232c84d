// Over which connection each agent speaks, and when that has ended: where errors are told by
// heartbeat no call of an agent is parked that would tell. Owned by the composition root, above the
// grpc_server and below the engine. Engine thread, but for `accepted`.
#pragma once

#include <grpcpp/server_context.h>

#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "coro/engine_context.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/net/connection_ends.hpp"

namespace muster::server {

class agent_connections {
 public:
  /// REQUIRES: both outlive it.
  agent_connections(coro::engine_context& engine, coordination_hub& hub);

  /// A connection of the main port is about to be served. Any thread.
  void accepted(int socket, std::string const& peer);

  /// A call of that process came over the connection of `peer`, which gRPC calls `grpc_peer`; when
  /// it ends, the hub hears of it. Without a descriptor left for that, heartbeats alone tell. Does
  /// nothing for clusters that tell errors by poll.
  void spoke(core::coordination::cluster_id cluster, core::coordination::task_index task,
             core::incarnation incarnation, std::string const& peer, std::string const& grpc_peer);

 private:
  using agent = std::pair<core::coordination::cluster_id, core::coordination::task_index>;
  struct connection {
    core::incarnation incarnation{};
    std::string peer;
    std::uint64_t watch = 0;
  };

  int socket_of(std::string const& peer, std::string const& grpc_peer);
  void ended(std::uint64_t watch);

  coro::engine_context& engine_;
  coordination_hub& hub_;

  std::map<agent, connection> agents_;                // at most one a task
  std::unordered_map<std::uint64_t, agent> watches_;  // of them

  // Of the main port, by socket and back: never more than the process has descriptors.
  std::mutex mutex_;
  std::vector<std::string> peers_;                // under mutex_, by socket
  std::unordered_map<std::string, int> sockets_;  // under mutex_

  net::connection_ends ends_;  // last: its thread uses the above
};

}  // namespace muster::server
