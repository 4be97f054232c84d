// Connects a UDP socket, which sends nothing, and looks which address it got.
#include "cluster/http/local_address.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>

#include "cluster/http/addresses.hpp"
#include "http_client/name_lookup.hpp"
#include "muster/cluster_error.hpp"

namespace muster::cluster {

namespace asio = boost::asio;

namespace {
constexpr std::chrono::seconds lookup_time{10};
}

std::string local_address_towards(std::string const& address) {
  auto const port = address.substr(address.rfind(':') + 1);
  auto const found =
      muster::look_up(host_of(address), port, std::chrono::steady_clock::now() + lookup_time);
  auto ec = found.error;
  for (auto const& there : found.endpoints) {
    asio::io_context context(1);
    asio::ip::udp::socket socket(context);
    asio::ip::udp::endpoint const target(there.address(), there.port());
    socket.open(target.protocol(), ec);
    if (!ec) socket.connect(target, ec);
    if (ec) continue;
    auto const here = socket.local_endpoint(ec);
    if (!ec) return here.address().to_string();
  }
  throw cluster_error(cluster_error::code::unreachable,
                      "no address of this machine leads to " + address +
                          (ec ? ": " + ec.message() : std::string()));
}

}  // namespace muster::cluster
