#include "app/perimeter.hpp"

#include <spdlog/spdlog.h>

#include "server/hub/access/networks.hpp"

namespace muster::server {
namespace {

void tell(bool warning, std::string const& line) {
  spdlog::log(warning ? spdlog::level::warn : spdlog::level::info, "TLS: {}", line);
}

// problem_with has already reported invalid networks.
net::proxy_rules rules_from(configuration const& c) {
  net::proxy_rules rules;
  rules.complain = [](std::string const& line) { spdlog::warn("{}", line); };
  auto const networks = parse_networks(c.connections.proxy_from);
  if (!networks || networks->empty()) return rules;
  rules.believed = [all = *networks](boost::asio::ip::address const& relay) {
    return any_contains(all, relay.to_string());
  };
  return rules;
}

}  // namespace

perimeter::perimeter(configuration const& c, net::service_manager& manager)
    : manager_(manager), relays_(rules_from(c)) {
  if (!c.tls.on()) return;
  net::tls_paths const paths{c.tls.certificate, c.tls.key, c.tls.client_ca};
  auto loaded = net::load_tls(paths);
  if (!loaded)
    throw start_error("--tls-cert, --tls-key, --tls-client-ca: " + loaded.error().message);
  if (loaded->expired())
    tell(true, "certificate " + paths.certificate + " has expired: clients will reject it");
  files_.emplace(paths, std::move(*loaded), tell);
}

}  // namespace muster::server
