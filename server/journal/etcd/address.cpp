#include "server/journal/etcd/address.hpp"

#include "base/text.hpp"

namespace muster::server::journal::etcd {
namespace {

constexpr std::size_t hosts_max = 16;

muster::status bad(std::string const& what) {
  return {code::invalid_argument,
          what + "; use etcd://HOST:2379[,HOST:2379...]/PREFIX, or etcds:// for TLS"};
}

bool is_host_and_port(std::string_view text) {
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  auto const port = parse_number(text.substr(colon + 1));
  auto const host = text.substr(0, colon);
  bool const v6 = host.starts_with('[') && host.ends_with(']');
  return port && *port > 0 && *port < 65'536 &&
         (v6 || host.find_first_of(":/[]@ ") == std::string_view::npos);
}

}  // namespace

std::string address::text() const {
  std::string all = tls ? "etcds://" : "etcd://";
  if (!user.empty()) all += user + "@";
  for (std::size_t i = 0; i < hosts.size(); ++i) all += (i > 0 ? "," : "") + hosts[i];
  return all + prefix;
}

muster::result<address> parse_address(std::string_view text) {
  address a;
  a.tls = text.starts_with("etcds://");
  if (!a.tls && !text.starts_with("etcd://")) return bad("the store must be an etcd:// address");
  text.remove_prefix(a.tls ? 8 : 7);
  auto const slash = std::min(text.find('/'), text.size());
  auto hosts = text.substr(0, slash);
  auto prefix = text.substr(slash);
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (prefix.empty())
    return bad(
        "the store address has no prefix, which separates the keys of Muster from other keys");
  a.prefix = prefix;
  if (auto const at = hosts.rfind('@'); at != std::string_view::npos) {
    a.user = hosts.substr(0, at);
    hosts.remove_prefix(at + 1);
    if (a.user.empty()) return bad("the user name in the store address is empty");
    if (a.user.find(':') != std::string::npos)
      return bad(
          "a password in the store address would be visible to all users of this machine: use "
          "--store-password-file");
  }
  for (bool more = true; more;) {
    auto const comma = std::min(hosts.find(','), hosts.size());
    auto const host = hosts.substr(0, comma);
    if (!is_host_and_port(host)) return bad("'" + std::string(host) + "' must be HOST:PORT");
    a.hosts.emplace_back(host);
    more = comma < hosts.size();
    hosts.remove_prefix(comma + (more ? 1 : 0));
  }
  if (a.hosts.size() > hosts_max)
    return bad("the store address has more than " + std::to_string(hosts_max) + " hosts");
  return a;
}

}  // namespace muster::server::journal::etcd
