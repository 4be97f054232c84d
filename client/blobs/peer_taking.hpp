// Takes values from processes of other hosts that hold them, each with a ticket of the server, and
// without the server's help. The ticket is shown first, once, and no token goes this way. Where the
// server speaks TLS it also makes the certificate that the holder shows, and sends it with the
// ticket: no other is trusted.
//
// Over TCP: 32 bytes of ticket, 32 of name; the answer is the size as 8 bytes (little endian) and
// the bytes. Whoever is not served is hung up on, and has it from the server. So does who would be
// served slower than by the server.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "client/blobs/peer_socket.hpp"

namespace muster::detail {

/// Where the server says that a value can be taken.
struct peer_place {
  std::string address, ticket;
  std::string certificate;  // PEM; empty: plaintext is spoken
};

/// Of whoever takes.
struct peer_patience {
  /// Until it is connected, until it has the first byte, and without a byte.
  std::chrono::milliseconds stall{1'250};
  /// Of a value, after which its pace is looked at.
  std::chrono::milliseconds pace_after{1'250};
};

/// Owned by shared_values. Any thread; take() waits.
class peer_taker {
 public:
  static constexpr std::chrono::seconds avoided_for{30};
  /// Peers that were not reached. More: all are tried again.
  static constexpr std::size_t avoided_max = 1'000;

  explicit peer_taker(peer_patience patience = {}) : patience_(patience) {}

  /// Sealed memory. None: have it from another, or the server; `why` says why.
  file_descriptor take(peer_place const& from, std::string const& name, std::uint64_t size,
                       std::string& why);
  /// So long it took for a value to come from the server: another host is to be as fast.
  void by_server(std::uint64_t size, std::chrono::duration<double> took);

 private:
  using clock = std::chrono::steady_clock;

  file_descriptor receive(peer_place const& from, std::string const& name, std::uint64_t size);
  bool is_avoided(std::string const& peer);
  void avoid(std::string const& peer);

  peer_patience const patience_;
  std::mutex mutex_;  // protects all below
  std::map<std::string, clock::time_point> avoided_;
  /// Bytes a second, of the last large value; at first what a fast network has.
  double server_rate_ = 200e6;
};

}  // namespace muster::detail
