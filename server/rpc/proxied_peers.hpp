// Who is behind the connections that relays made in somebody's name: gRPC calls a connection by its
// own peer and knows no other (no version known that does). Written where connections are accepted,
// before gRPC has them, and read by their calls; any thread.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>

namespace muster::server {

class proxied_peers {
 public:
  /// A connection of `peer` is about to be served, in the name of `client`; the same where it
  /// speaks for itself. Limit: one entry a descriptor, since the next connection with its number
  /// takes its place.
  void accepted(int socket, std::string const& peer, std::string const& client) {
    if (peer == client && none_) return;
    std::lock_guard const lock(mutex_);
    forget(socket);
    by_peer_.erase(peer);
    if (peer == client) return;
    none_ = false;
    peers_[socket] = peer;
    by_peer_[peer] = {socket, client};
  }
  /// `peer` itself where nothing else is known.
  std::string client_of(std::string const& peer) const {
    if (none_) return peer;
    std::lock_guard const lock(mutex_);
    auto const it = by_peer_.find(peer);
    return it == by_peer_.end() ? peer : it->second.client;
  }

 private:
  struct entry {
    int socket = -1;
    std::string client;
  };

  void forget(int socket) {
    auto const before = peers_.extract(socket);
    if (!before) return;
    auto const it = by_peer_.find(before.mapped());
    if (it != by_peer_.end() && it->second.socket == socket) by_peer_.erase(it);
  }

  std::atomic<bool> none_ = true;  // as long as no relay has said anything
  mutable std::mutex mutex_;
  std::unordered_map<int, std::string> peers_;      // under mutex_, by socket
  std::unordered_map<std::string, entry> by_peer_;  // under mutex_
};

}  // namespace muster::server
