// Addresses with and without ports; free ports, by binding to them.
#include "launch/address.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace muster::launch {

address address::parse(std::string_view text) {
  if (text.starts_with('[')) {
    auto const end = text.find(']');
    if (end == text.npos) return {std::string(text), {}};
    auto const behind = text.substr(end + 1);
    return {std::string(text.substr(1, end - 1)),
            std::string(behind.starts_with(':') ? behind.substr(1) : std::string_view())};
  }
  auto const colon = text.find(':');
  // Several colons without brackets: an IPv6 address alone.
  if (colon == text.npos || text.find(':', colon + 1) != text.npos) return {std::string(text), {}};
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

std::string address::text() const {
  auto const h = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port.empty() ? h : h + ":" + port;
}

std::vector<int> free_ports(std::size_t count) {
  namespace ip = boost::asio::ip;
  boost::asio::io_context io;
  std::vector<ip::tcp::acceptor> held;  // until all are known, so that they differ
  std::vector<int> ports;
  for (std::size_t i = 0; i < count; ++i) {
    held.emplace_back(io, ip::tcp::endpoint(ip::address_v4::loopback(), 0));
    ports.push_back(held.back().local_endpoint().port());
  }
  return ports;
}

}  // namespace muster::launch
