// Fetches values directly from processes on other hosts, each with a ticket issued by the server.
// The ticket is sent first and can be used once; tokens are never sent. If the server uses TLS, it
// sends the holder's certificate with the ticket. Only this certificate is trusted.
//
// The request over TCP is a 32-byte ticket and a 32-byte name. The response is the size in 8 bytes
// (little endian) and the value's bytes. A holder closes the connection to reject a request. The
// client then fetches the value from the server, as it does if the holder is slower than the
// server.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "client/blobs/peer_socket.hpp"

namespace muster::detail {

struct peer_place {
  std::string address, ticket;
  std::string certificate;  // in PEM format; if empty, plaintext is used
};

struct peer_patience {
  /// Maximum time to wait for the connection, for the first byte, and between bytes.
  std::chrono::milliseconds stall{1'250};
  /// Time after which the transfer speed is checked.
  std::chrono::milliseconds pace_after{1'250};
};

/// Members may be called from any thread; take() blocks.
class peer_value_client {
 public:
  static constexpr std::chrono::seconds avoided_for{30};
  /// Maximum number of remembered unreachable peers; at the limit, all peers are tried again.
  static constexpr std::size_t avoided_max = 1'000;

  explicit peer_value_client(peer_patience patience = {}) : patience_(patience) {}

  /// Returns sealed memory, or an empty descriptor if the value must be fetched from the server;
  /// `why` is then the reason.
  file_descriptor take(peer_place const& from, std::string const& name, std::uint64_t size,
                       std::string& why);
  /// Records how long the server took for a value, because transfers from other hosts must not be
  /// slower.
  void record_server_time(std::uint64_t size, std::chrono::duration<double> took);

 private:
  using clock = std::chrono::steady_clock;

  file_descriptor receive(peer_place const& from, std::string const& name, std::uint64_t size);
  bool is_avoided(std::string const& peer);
  void avoid(std::string const& peer);

  peer_patience const patience_;
  std::mutex mutex_;  // protects the following members
  std::map<std::string, clock::time_point> avoided_;
  /// The server's speed in bytes per second, measured with the last large value. The initial value
  /// is typical of a fast network.
  double server_rate_ = 200e6;
};

}  // namespace muster::detail
