#include <netdb.h>
#include <sys/socket.h>

#include <memory>

#include "base/host_port.hpp"
#include "base/process/file_descriptor.hpp"
#include "client/programs/program_options.hpp"
#include "client/programs/rank_runner.hpp"

namespace muster {
namespace {

// Returns the local address of the route to the server, or an empty string. Sends nothing.
std::string own_address_towards(host_port const& server) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  auto const port = server.port.empty() ? "1" : server.port;
  if (::getaddrinfo(server.host.c_str(), port.c_str(), &hints, &found) != 0) return {};
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> const all(found, &::freeaddrinfo);
  for (auto const* a = found; a; a = a->ai_next) {
    file_descriptor const probe(::socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    auto* const address = reinterpret_cast<sockaddr*>(&own);
    char host[NI_MAXHOST];
    if (probe && ::connect(probe.get(), a->ai_addr, a->ai_addrlen) == 0 &&
        ::getsockname(probe.get(), address, &size) == 0 &&
        ::getnameinfo(address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) == 0)
      return host;
  }
  return {};
}

}  // namespace

std::unique_ptr<rank_side> make_rank_side(program_options o,
                                          std::vector<std::string> const& servers) {
  if (o.address.empty() && !servers.empty())
    o.address = own_address_towards(host_port::parse(servers.front()));
  if (o.address.empty()) o.address = "127.0.0.1";
  return std::make_unique<rank_runner>(std::move(o));
}

}  // namespace muster
