// Copies, shares of the descriptors, and what is logged when all of it runs.
#include "app/service_options.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>

#include "base/version.hpp"
#include "app/process.hpp"
#include "server/hub/access/networks.hpp"

namespace muster::server {

// What is no network was told before: see problem_with.
net::proxy_rules proxy_rules_from(configuration const& c) {
  net::proxy_rules rules;
  rules.complain = [](std::string const& line) { spdlog::warn("{}", line); };
  auto const networks = parse_networks(c.proxy_from);
  if (!networks || networks->empty()) return rules;
  rules.believed = [all = *networks](boost::asio::ip::address const& relay) {
    return any_contains(all, relay.to_string());
  };
  return rules;
}

web::web_options web_options_from(configuration const& c) {
  auto o = c.web;
  o.address = c.http.address;
  o.port = c.http.port;
  o.client_certificate_required = c.tls.client_required;
  o.connections_max = std::min(o.connections_max, share_of_files(o.connections_max, 2));
  o.half_open_per_address_max = share_of_files(o.half_open_per_address_max, 8);
  o.main_cluster = main_cluster_of(c);
  o.secure_cookies = c.tls.on();
  return o;
}

net::accepting_server_options grpc_options_from(configuration const& c) {
  net::accepting_server_options o;
  o.listener.proxies = proxy_rules_from(c);
  // Key-values are as large as gRPC lets them be; streams have limits of their own.
  o.request_bytes_max = 1 << 30;
  o.response_bytes_max = std::numeric_limits<int>::max();
  auto& waiting = o.listener.waiting;
  waiting.all_max = share_of_files(waiting.all_max, 4);
  waiting.per_address_max = share_of_files(waiting.per_address_max, 8);
  return o;
}

void log_clusters(coordination_hub const& hub, cluster_ports const& ports) {
  for (auto const cluster : hub.state().ids()) {
    auto const& spec = hub.state().spec(cluster);
    spdlog::info("cluster name={} tasks={} coordination={}", spec.name, spec.size(),
                 ports.address(cluster));
  }
}

void log_ready(configuration const& c, endpoint const& grpc, endpoint const& http) {
  spdlog::info(!c.is_durable()
                   ? "everything is in memory and lost when the server stops"
                   : "clusters with their tasks, keys and barriers survive a restart, and jobs and "
                     "sessions that hold values unless they say durable: false");
  spdlog::info("ready version={} grpc={} http={} dashboard={}://{}/ tls={}", version(),
               to_string(grpc), to_string(http), c.tls.on() ? "https" : "http", to_string(http),
               c.tls.on() ? "on" : "off");
}

}  // namespace muster::server
