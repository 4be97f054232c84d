// Header of the PROXY protocol, version 2, in which a relay reports the client of a connection:
// https://www.haproxy.org/download/2.6/doc/proxy-protocol.txt, section 2.2. The functions are pure.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster::net {

/// Maximum header size. Headers from haproxy have fewer than 232 bytes; longer headers contain
/// padding.
constexpr std::size_t proxy_header_bytes_max = 1'024;
constexpr std::size_t proxy_signature_bytes = 12;

struct proxy_header {
  enum class state {
    none,
    partial,  // incomplete; at least `bytes` bytes are needed
    whole,
    wrong
  };
  state is = state::none;
  std::size_t bytes = 0;
  /// Client behind the relay. Empty if the header does not contain a client, or if the relay
  /// connects on its own behalf (LOCAL).
  std::optional<boost::asio::ip::tcp::endpoint> client = {};
  std::string problem = {};
};

/// Parses the data that a connection has sent so far, and ignores TLVs. REQUIRES: `said` is not
/// empty.
proxy_header read_proxy_header(std::string_view said);

/// Returns the client of a connection from `relay` with this header. If the client is a loopback
/// address on another host, returns the relay's address.
boost::asio::ip::tcp::endpoint behind(boost::asio::ip::tcp::endpoint const& relay,
                                      proxy_header const& header);

std::string write_proxy_header(boost::asio::ip::tcp::endpoint const& client,
                               boost::asio::ip::tcp::endpoint const& here);

}  // namespace muster::net
