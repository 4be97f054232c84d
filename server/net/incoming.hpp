// Helper functions for listeners. All functions except endpoint_of() are pure.
#pragma once

#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/half_open.hpp"

namespace muster::net {

inline std::uint64_t network_of(boost::asio::ip::address const& address) {
  if (address.is_v4()) return peer_network(address.to_v4().to_bytes());
  return peer_network(address.to_v6().to_bytes());
}

/// Returns, for example, "10.0.0.3:4711" or "[::1]:4711".
inline std::string text_of(boost::asio::ip::tcp::endpoint const& e) {
  namespace ip = boost::asio::ip;
  auto const address = e.address();
  auto const v4 = address.is_v6() && address.to_v6().is_v4_mapped();
  auto const host =
      v4 ? ip::make_address_v4(ip::v4_mapped, address.to_v6()).to_string() : address.to_string();
  auto const port = ":" + std::to_string(e.port());
  return address.is_v6() && !v4 ? "[" + host + "]" + port : host + port;
}

/// Returns why the process cannot listen on `address` ("HOST:PORT"), and what to do.
inline std::string listen_failure(std::string_view address, boost::system::error_code ec) {
  namespace errc = boost::system::errc;
  auto const why = [&]() -> std::string {
    if (ec == errc::address_in_use)
      return "another program is using the port; stop it ('ss -ltnp' lists it), or choose another "
             "port";
    if (ec == errc::address_not_available)
      return "this machine does not have the address; choose an address that 'ip address' lists";
    if (ec == errc::permission_denied) return "permission denied; choose a port of 1024 or above";
    return ec.message();
  };
  return "cannot listen on " + std::string(address) + ": " + why();
}

/// Returns the socket's remote endpoint, or with `::getsockname` its local endpoint. The port is 0
/// if the socket is not a TCP connection.
inline boost::asio::ip::tcp::endpoint endpoint_of(int socket,
                                                  decltype(::getpeername) ask = ::getpeername) {
  boost::asio::ip::tcp::endpoint end;
  auto size = static_cast<socklen_t>(end.capacity());
  if (ask(socket, end.data(), &size) != 0 || size > end.capacity()) return {};
  auto const family = end.data()->sa_family;
  if (family != AF_INET && family != AF_INET6) return {};
  end.resize(size);
  return end;
}

/// Returns the descriptor of a connection that was passed to gRPC, from its gRPC name, such as
/// "fd:42". Returns -1 for other names. gRPC 1.51 uses this form.
inline int adopted_socket(std::string_view grpc_peer) {
  constexpr std::string_view adopted = "fd:";
  int fd = -1;
  if (grpc_peer.starts_with(adopted))
    std::from_chars(grpc_peer.data() + adopted.size(), grpc_peer.data() + grpc_peer.size(), fd);
  return fd;
}

/// Returns whether accept failed because descriptors or memory ran out. If so, closing a connection
/// makes room.
inline bool out_of_descriptors(boost::system::error_code ec) {
  namespace errc = boost::system::errc;
  return ec == errc::too_many_files_open || ec == errc::too_many_files_open_in_system ||
         ec == errc::no_buffer_space || ec == errc::not_enough_memory;
}

inline bool client_disconnected(boost::system::error_code ec) {
  namespace error = boost::asio::error;
  return ec == error::connection_aborted || ec == error::would_block || ec == error::try_again;
}

}  // namespace muster::net
