// The header of the PROXY protocol, version 2, by which a relay says on whose behalf it connects:
// https://www.haproxy.org/download/2.6/doc/proxy-protocol.txt, section 2.2. Pure.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster::net {

/// Of a whole header. haproxy's own are shorter than 232 bytes; longer ones have been filled up by
/// somebody else.
constexpr std::size_t proxy_header_bytes_max = 1'024;
/// With so many first bytes it is told from anything else.
constexpr std::size_t proxy_signature_bytes = 12;

struct proxy_header {
  enum class state {
    none,     // it is no header and will not become one
    partial,  // `bytes` have to be there before more can be said
    whole,    // of `bytes`
    wrong     // it begins as one; `problem` says what is wrong
  };
  state is = state::none;
  std::size_t bytes = 0;
  /// Who is behind the relay. Nothing: the relay speaks for itself (LOCAL), or will not say.
  std::optional<boost::asio::ip::tcp::endpoint> client = {};
  std::string problem = {};
};

/// What a connection has said so far; not empty. TLVs are passed over.
proxy_header read_proxy_header(std::string_view said);

/// Who is behind a connection of `relay` that began with this header. A client on loopback is on
/// the relay's own machine: where that is another one, the relay's address says which.
boost::asio::ip::tcp::endpoint behind(boost::asio::ip::tcp::endpoint const& relay,
                                      proxy_header const& header);

/// The header for a connection that came from `client` to `here`.
std::string write_proxy_header(boost::asio::ip::tcp::endpoint const& client,
                               boost::asio::ip::tcp::endpoint const& here);

}  // namespace muster::net
