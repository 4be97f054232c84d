#include "app/configuration.hpp"

#include <boost/asio/ip/address.hpp>

#include "app/store_access.hpp"
#include "base/text.hpp"
#include "server/hub/access/networks.hpp"

namespace muster::server {
namespace {

muster::status bad_endpoint(std::string_view text, std::string_view what) {
  auto line = std::string("'").append(text).append("' ").append(what);
  return {muster::code::invalid_argument, line + "; write ADDRESS:PORT, as in 127.0.0.1:8476"};
}

}  // namespace

muster::result<endpoint> parse_endpoint(std::string_view text) {
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad_endpoint(text, "has no port");
  auto const port = parse_number(text.substr(colon + 1));
  if (!port || *port > 65535) return bad_endpoint(text, "has no port between 0 and 65535");

  auto host = std::string(text.substr(0, colon));
  if (host.empty()) host = "0.0.0.0";
  if (host == "localhost") host = "127.0.0.1";
  bool const bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  boost::system::error_code ec;
  auto const address = boost::asio::ip::make_address(host, ec);
  if (ec || address.is_v6() != bracketed)
    return bad_endpoint(text, "does not contain a valid IP address");
  return endpoint{address.to_string(), static_cast<std::uint16_t>(*port)};
}

muster::result<port_range> parse_port_range(std::string_view text) {
  auto const dash = text.find('-');
  if (dash != std::string_view::npos) {
    auto const first = parse_number(text.substr(0, dash)).value_or(0);
    auto const last = parse_number(text.substr(dash + 1)).value_or(0);
    if (first != 0 && first <= last && last <= 65535)
      return port_range{static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last)};
  }
  return muster::status{
      muster::code::invalid_argument,
      "'" + std::string(text) + "' is not a range of ports; write FIRST-LAST, as in 9000-9009"};
}

bool endpoint::is_loopback() const {
  boost::system::error_code ec;
  auto const parsed = boost::asio::ip::make_address(address, ec);
  return !ec && parsed.is_loopback();
}

std::string to_string(endpoint const& e) {
  bool const v6 = e.address.find(':') != std::string::npos;
  std::string text = v6 ? "[" : "";
  text.append(e.address).append(v6 ? "]:" : ":").append(std::to_string(e.port));
  return text;
}

namespace {
std::string problem_with_times(core::config const& c) {
  if (c.reconnect_grace >= c.heartbeat_timeout &&
      c.reconnect_grace != core::config{}.reconnect_grace)
    return "--reconnect-grace must be less than --heartbeat-timeout, after which a worker is lost "
           "anyway";
  if (c.transient_dependency_failures > 10'000)
    return "--transient-dependency-failures must be at most 10000";
  if (c.max_worker_failures > core::worker_failures_max)
    return "--max-worker-failures must be at most " + std::to_string(core::worker_failures_max) +
           "; 0 means no limit";
  return {};
}

// Rejects zero for limits where zero has no special meaning and would make the server useless.
std::string problem_with_zeros(configuration const& c) {
  using limit = std::pair<char const*, std::uint64_t>;
  for (auto const& [flag, value] :
       {limit{"--connections-max", c.web.connections_max},
        limit{"--websocket-clients-max", c.web.websocket_clients_max},
        limit{"--body-limit", c.web.body_limit_bytes}, limit{"--closures-max", c.core.closures_max},
        limit{"--sessions-max", c.core.sessions_max}, limit{"--tasks-max", c.core.tasks_max},
        limit{"--credits-max", c.core.credits_max},
        limit{"--value-bytes-max", c.core.value_bytes_max},
        limit{"--blob-bytes-max", c.blobs.bytes_max},
        limit{"--spill-bytes-max", c.core.spill_bytes_max}, limit{"--store-bytes", c.store.bytes}})
    if (value == 0) return flag + std::string(" must be at least 1");
  if (c.core.heartbeat_timeout <= core::duration{})
    return "--heartbeat-timeout must be more than 0s";
  return {};
}

std::string problem_with_tls(tls_settings const& s) {
  if (s.certificate.empty() != s.key.empty())
    return s.key.empty() ? "--tls-cert needs --tls-key, the key of that certificate"
                         : "--tls-key needs --tls-cert, the certificate of that key";
  if (!s.client_ca.empty() && !s.on())
    return "--tls-client-ca needs --tls-cert and --tls-key: clients show certificates only over "
           "TLS";
  if (s.client_required && s.client_ca.empty())
    return "--tls-client-required needs --tls-client-ca, the authority that issues the clients' "
           "certificates";
  return {};
}

std::string problem_with_store(configuration const& c) {
  auto const& s = c.store;
  bool const has_flags = !s.ca.empty() || !s.certificate.empty() || !s.key.empty() ||
                         !s.password_file.empty() || !s.advertise.empty();
  if (!s.where)
    return has_flags ? "--store-ca, --store-cert, --store-key, --store-password-file and "
                       "--advertise need --store"
                     : std::string();
  if (!c.data_dir.empty()) return "--data-dir and --store cannot be combined: use only one of them";
  if (auto problem = problem_with(s); !problem.empty()) return problem;
  using std::chrono::seconds;
  if (s.lease < seconds(2) || s.lease > seconds(60) || s.lease % seconds(1) != core::duration(0))
    return "--store-lease must be whole seconds, from 2s to 60s";
  return {};
}

std::string problem_with_history(configuration const& c) {
  if (c.history.limits.bytes_max != 0 && c.history.limits.bytes_max < history_bytes_least)
    return "--history-bytes-max must be at least 1MiB, or 0 to keep no history";
  if (c.history.limits.age < std::chrono::minutes(1)) return "--history-age must be at least 1m";
  if (!c.history.directory.empty() && !c.is_durable())
    return "--history-dir needs --data-dir or --store: add one of them";
  if (!c.is_read_only()) return {};
  if (!c.data_dir.empty() || c.store.where)
    return "--read-only cannot be combined with --data-dir or --store: leave them out";
  if (c.life.supervise || c.torch.listen || !c.cluster_sources.empty())
    return "--read-only cannot be combined with --supervise, --torch or --cluster-from: leave them "
           "out";
  return {};
}

std::string problem_with_torch(configuration const& c) {
  if (auto const from = parse_networks(c.torch.from); !from)
    return "--torch-from: " + from.error().message;
  if (c.torch.listen && !c.clusters.empty() && c.clusters.front().torch_port)
    return "--torch and torch=PORT of cluster " + c.clusters.front().name +
           ", the main cluster, set the same port: leave out one of them";
  return {};
}

// Reachable servers need stored tokens or an explicit --insecure.
std::string problem_with_access(configuration const& c) {
  for (auto const& [flag, where] : {std::pair{"--grpc", &c.grpc}, std::pair{"--http", &c.http}}) {
    if (where->is_loopback() || c.insecure) continue;
    auto const reached =
        std::string(flag) + " " + to_string(*where) + " can be reached from other machines";
    if (c.auth == auth_mode::off)
      return reached +
             ", and --auth is off: listen on 127.0.0.1, or add --insecure if you trust every "
             "machine on the network";
    if (!c.is_durable() && c.token_file.empty() && c.tls.roles.empty())
      return reached +
             ", and there are no credentials: add --data-dir DIR, where tokens are stored (the "
             "first admin token is written to DIR/admin.token), or --token-file FILE with your own "
             "tokens; or listen on 127.0.0.1; or add --insecure if you trust every machine on the "
             "network";
  }
  if (auto const relays = parse_networks(c.connections.proxy_from); !relays)
    return "--proxy-from: " + relays.error().message;
  if (!c.tls.roles.empty() && c.tls.client_ca.empty())
    return "--tls-role needs --tls-client-ca, which asks clients for certificates: add it";
  if (c.auth == auth_mode::off && !c.token_file.empty())
    return "--token-file has no effect with --auth off: leave out one of them";
  if (c.auth == auth_mode::on && !c.is_durable() && c.token_file.empty() && c.tls.roles.empty())
    return "--auth on needs tokens: add --data-dir DIR, where tokens are stored, or --token-file "
           "FILE";
  return {};
}
}  // namespace

std::string main_cluster_of(configuration const& c) {
  return c.clusters.empty() ? core::coordination::cluster_spec{}.name : c.clusters.front().name;
}

bool is_reachable(configuration const& c) {
  return !c.grpc.is_loopback() || !c.http.is_loopback();
}

std::string problem_with(configuration const& c) {
  if (auto problem = problem_with_access(c); !problem.empty()) return problem;
  if (auto problem = problem_with_torch(c); !problem.empty()) return problem;
  if (auto problem = problem_with_zeros(c); !problem.empty()) return problem;
  if (auto problem = problem_with_times(c.core); !problem.empty()) return problem;
  if (auto problem = problem_with_store(c); !problem.empty()) return problem;
  if (auto problem = problem_with_history(c); !problem.empty()) return problem;
  if (auto problem = problem_with(c.webhooks, c.insecure); !problem.empty()) return problem;
  if (auto problem = problem_with_tls(c.tls); !problem.empty()) return problem;
  if (c.core.spill_above > c.core.value_bytes_max)
    return "--spill-above exceeds --value-bytes-max: values would be dropped before they are "
           "written";
  if (c.connections.memory_max < connection_memory_least)
    return "--connection-memory-max must be at least 16 MiB";
  if (c.grpc == c.http && c.grpc.port != 0)
    return "--grpc and --http are both " + to_string(c.grpc) + ": use different ports";
  return {};
}

}  // namespace muster::server
