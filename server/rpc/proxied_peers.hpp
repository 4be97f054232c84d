// Clients whose connections come from relays. gRPC identifies a connection only by its own peer,
// which is the relay. Thread-safe.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>

namespace muster::server {

class proxied_peers {
 public:
  /// Adds a connection of `peer` on behalf of `client`. Replaces an earlier connection with this
  /// descriptor, so the number of entries is bounded.
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
  /// Returns `peer` if it is not a relay.
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

  std::atomic<bool> none_ = true;
  mutable std::mutex mutex_;
  std::unordered_map<int, std::string> peers_;      // guarded by mutex_; indexed by socket
  std::unordered_map<std::string, entry> by_peer_;  // guarded by mutex_
};

}  // namespace muster::server
