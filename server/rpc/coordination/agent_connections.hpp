// Detects when agent connections end. Clusters that report errors by heartbeat need this detection,
// because their agents have no pending call that would be cancelled. Owned by the composition root;
// outlives the grpc_server and is destroyed before the engine. Used only on the engine thread,
// except `accepted`.
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
  /// REQUIRES: `engine` and `hub` outlive this object.
  agent_connections(coro::engine_context& engine, coordination_hub& hub);

  /// Reports a new connection to the main port, before gRPC serves it. Thread-safe.
  void accepted(int socket, std::string const& peer);

  /// Reports that this task made a call over the connection of `peer`, whose gRPC name is
  /// `grpc_peer`. The hub is notified when the connection ends. If no descriptor is free, the end
  /// is detected only by missing heartbeats. Has no effect for clusters that report errors by poll.
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

  std::map<agent, connection> agents_;
  std::unordered_map<std::uint64_t, agent> watches_;

  // Sockets of the main port. Bounded by the limit of descriptors.
  std::mutex mutex_;
  std::vector<std::string> peers_;                // guarded by mutex_; indexed by socket
  std::unordered_map<std::string, int> sockets_;  // guarded by mutex_

  net::connection_ends ends_;  // last member, because its thread uses the other members
};

}  // namespace muster::server
