// What listeners ask about a connection that came in, and about one that could not be accepted.
// Pure.
#pragma once

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <string>

#include "base/half_open.hpp"

namespace muster::coro {

/// See peer_network.
inline std::uint64_t network_of(boost::asio::ip::address const& address) {
  if (address.is_v4()) return peer_network(address.to_v4().to_bytes());
  return peer_network(address.to_v6().to_bytes());
}

/// "10.0.0.3:4711", "[::1]:4711".
inline std::string text_of(boost::asio::ip::tcp::endpoint const& e) {
  namespace ip = boost::asio::ip;
  auto const address = e.address();
  auto const v4 = address.is_v6() && address.to_v6().is_v4_mapped();
  auto const host =
      v4 ? ip::make_address_v4(ip::v4_mapped, address.to_v6()).to_string() : address.to_string();
  auto const port = ":" + std::to_string(e.port());
  return address.is_v6() && !v4 ? "[" + host + "]" + port : host + port;
}

/// No file descriptor, or no memory for a socket, is left: closing a connection helps.
inline bool out_of_descriptors(boost::system::error_code ec) {
  namespace errc = boost::system::errc;
  return ec == errc::too_many_files_open || ec == errc::too_many_files_open_in_system ||
         ec == errc::no_buffer_space || ec == errc::not_enough_memory;
}

/// The client that was to be accepted has left.
inline bool gone_again(boost::system::error_code ec) {
  namespace error = boost::asio::error;
  return ec == error::connection_aborted || ec == error::would_block || ec == error::try_again;
}

}  // namespace muster::coro
