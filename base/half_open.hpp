// Table of connections whose first request or HTTP/2 preface is incomplete. Selects the connection
// that the owner must close to make room. Used only on the listener's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>

namespace muster {

/// Identifies a peer by the 4 or 16 bytes of its IP address. IPv4 addresses, including those mapped
/// to IPv6, count individually. IPv6 addresses count by their first half, because usually all
/// addresses with this prefix belong to one host.
std::uint64_t peer_network(std::span<unsigned char const> address);

/// Each address has `per_address_max` places for its newest connections. A client that sends its
/// request immediately is therefore served even if its address, such as a proxy's, is flooded.
template <class Connection>
class half_open_table {
 public:
  /// Position of a connection in the table; empty by default.
  struct place {
    std::uint64_t network = 0;
    std::uint64_t number = 0;
  };

  explicit half_open_table(std::size_t per_address_max) : per_address_max_(per_address_max) {}

  /// @pre `c` must outlive its place.
  place add(Connection& c, std::uint64_t network) {
    place const p{network, ++last_};
    all_.emplace(p.number, &c);
    by_network_[network].emplace(p.number, &c);
    return p;
  }
  void remove(place& p) {
    if (p.number == 0) return;
    all_.erase(p.number);
    auto const neighbours = by_network_.find(p.network);
    neighbours->second.erase(p.number);
    if (neighbours->second.empty()) by_network_.erase(neighbours);
    p = {};
  }

  Connection* oldest() const { return all_.empty() ? nullptr : all_.begin()->second; }
  /// Returns the connection to close before another connection from `network` is added, or null.
  Connection* surplus(std::uint64_t network) const {
    auto const it = by_network_.find(network);
    if (it == by_network_.end() || it->second.size() < per_address_max_) return nullptr;
    return it->second.begin()->second;
  }
  std::size_t size() const { return all_.size(); }

 private:
  using by_age = std::map<std::uint64_t, Connection*>;

  std::size_t const per_address_max_;
  std::uint64_t last_ = 0;
  by_age all_;
  std::unordered_map<std::uint64_t, by_age> by_network_;
};

}  // namespace muster
