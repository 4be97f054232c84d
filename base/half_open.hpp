// Connections that have not yet said what they want: those whose first request, or whose HTTP/2
// preface, is incomplete. Tells who makes room for whom; closing them is the owner's. Belongs to a
// listener, its thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>

namespace muster {

/// What counts as one peer, from the 4 or 16 bytes of an IP address: an IPv4 address, also when it
/// is mapped into IPv6, or the first half of an IPv6 address, since whoever has one has them all.
std::uint64_t peer_network(std::span<unsigned char const> address);

/// Limit: an address has `per_address_max` places, and its newest connections get them. Who speaks
/// at once is heard in this way also at an address that is flooded, such as that of a proxy.
template <class Connection>
class half_open_table {
 public:
  /// Where a connection stands; nowhere at first.
  struct place {
    std::uint64_t network = 0;
    std::uint64_t number = 0;
  };

  explicit half_open_table(std::size_t per_address_max) : per_address_max_(per_address_max) {}

  /// REQUIRES: `c` outlives its place.
  place add(Connection& c, std::uint64_t network) {
    place const p{network, ++last_};
    all_.emplace(p.number, &c);
    by_network_[network].emplace(p.number, &c);
    return p;
  }
  /// Harmless when it stands nowhere.
  void remove(place& p) {
    if (p.number == 0) return;
    all_.erase(p.number);
    auto const neighbours = by_network_.find(p.network);
    neighbours->second.erase(p.number);
    if (neighbours->second.empty()) by_network_.erase(neighbours);
    p = {};
  }

  /// Who has been here longest; null when nobody is.
  Connection* oldest() const { return all_.empty() ? nullptr : all_.begin()->second; }
  /// Who has to go before one more of `network` is added; null while there is room.
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
