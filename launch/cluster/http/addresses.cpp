#include "launch/cluster/http/addresses.hpp"

#include "launch/cluster/resolver_text.hpp"

namespace muster::cluster {

namespace {

constexpr int port_max = 65535;

bool is_host(std::string_view host) {
  constexpr std::string_view others = ".-_:%";
  for (char const c : host) {
    bool const letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && others.find(c) == std::string_view::npos) return false;
  }
  return !host.empty();
}

}  // namespace

std::string host_port(std::string const& host, std::int64_t port, std::string const& origin) {
  if (!is_host(host))
    throw invalid(origin + ": " + quoted(host) + " is not a host name or address");
  if (port < 1 || port > port_max)
    throw invalid(origin + ": port " + std::to_string(port) + " is not between 1 and 65535");
  auto const name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return name + ":" + std::to_string(port);
}

std::string parse_endpoint(std::string_view text, int default_port, std::string const& origin) {
  constexpr std::string_view scheme = "grpc://";
  auto rest = trimmed(text);
  if (rest.starts_with(scheme)) rest.remove_prefix(scheme.size());
  auto const wrong = [&](std::string const& why) {
    return invalid(origin + ": " + quoted(text) + ": " + why);
  };
  std::string_view host = rest, port;
  if (rest.starts_with('[')) {
    auto const end = rest.find(']');
    if (end == std::string_view::npos) throw wrong("']' is missing");
    host = rest.substr(1, end - 1);
    port = rest.substr(end + 1);
    if (!port.empty() && port[0] != ':') throw wrong("expected ':' after ']'");
  } else if (auto const colon = rest.find(':');
             colon != std::string_view::npos &&
             rest.find(':', colon + 1) == std::string_view::npos) {
    host = rest.substr(0, colon);
    port = rest.substr(colon);
  }
  if (host.empty()) throw wrong("the host is missing");
  if (port.empty()) return host_port(std::string(host), default_port, origin);
  auto const number = parse_count(port.substr(1), port_max);
  if (!number || *number == 0) throw wrong("the port must be a number from 1 to 65535");
  return host_port(std::string(host), *number, origin);
}

std::string host_of(std::string const& address) {
  if (address.starts_with('[')) return address.substr(1, address.find(']') - 1);
  return address.substr(0, address.rfind(':'));
}

bool is_loopback(std::string const& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace muster::cluster
