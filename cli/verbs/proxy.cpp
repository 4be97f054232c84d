// muster proxy: provides one address for several servers, of which one is active.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <set>

#include "app/logging.hpp"
#include "app/process_setup.hpp"
#include "app/ready_file.hpp"
#include "base/host_port.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cli/command.hpp"
#include "cli/durations.hpp"
#include "cli/rest.hpp"
#include "cli/verbs/logging_flags.hpp"
#include "server/net/incoming.hpp"
#include "server/relay/relay.hpp"

namespace muster::cli {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr std::size_t upstreams_max = 16;
constexpr std::size_t connections_max_max = 1'000'000;

struct proxy_options {
  std::string listen;
  std::vector<std::string> upstream, upstream_http;
  relay::relay_options relay;
  duration hold_max = 60s, check_every = 250ms, check_timeout = 5s;
  std::string ready_file, log_level = "info";
  server::log_format log_format = server::log_format::text;
  bool insecure = false, tls = false;
  https_options files;
};

host_port parse_address(std::string const& flag, std::string const& text) {
  auto const a = host_port::parse(text);
  auto const port = muster::parse_number(a.port);
  if (a.host.empty() || !port || *port == 0 || *port > 65535)
    throw command_error(exit_usage, flag + ": '" + text + "' is not HOST:PORT");
  return a;
}

std::vector<relay::upstream> upstreams_of(proxy_options const& o) {
  if (o.upstream.empty() || o.upstream.size() > upstreams_max)
    throw command_error(exit_usage, "--upstream: list 1 to " + std::to_string(upstreams_max) +
                                        " servers, as in --upstream a:8476,b:8476");
  if (!o.upstream_http.empty() && o.upstream_http.size() != o.upstream.size())
    throw command_error(exit_usage,
                        "--upstream-http lists " + std::to_string(o.upstream_http.size()) +
                            " addresses and --upstream " + std::to_string(o.upstream.size()) +
                            "; pass one HTTP address for each server, in the same order");
  auto const http_port = std::to_string(server::configuration().http.port);
  std::vector<relay::upstream> all;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < o.upstream.size(); ++i) {
    auto const where = parse_address("--upstream", o.upstream[i]);
    auto const http = o.upstream_http.empty()
                          ? host_port{where.host, http_port}
                          : parse_address("--upstream-http", o.upstream_http[i]);
    if (!seen.insert(http.text()).second)
      throw command_error(exit_usage,
                          "two servers have the HTTP address " + http.text() +
                              "; pass the HTTP address of each server with --upstream-http");
    all.push_back({where, http});
  }
  return all;
}

server::endpoint listen_address(proxy_options const& o) {
  if (o.listen.empty())
    throw command_error(exit_usage,
                        "--listen is missing; write the address, as in --listen 127.0.0.1:8476");
  auto const where = server::parse_endpoint(o.listen);
  if (!where) throw command_error(exit_usage, "--listen: " + where.error().message);
  if (!where->is_loopback() && !o.insecure)
    throw command_error(
        exit_usage, "--listen " + server::to_string(*where) +
                        " can be reached from other machines, and the proxy does not authenticate "
                        "clients; add --insecure only if you trust every machine on the network");
  return *where;
}

std::shared_ptr<relay::tls_towards> tls_of(proxy_options const& o) {
  auto const& f = o.files;
  if (!o.tls && !o.relay.connections_over_tls && f.ca_file.empty() && f.certificate_file.empty() &&
      f.key_file.empty())
    return nullptr;
  auto made = relay::tls_towards::from(f);
  if (!made) throw command_error(exit_usage, "--ca, --cert, --key: " + made.error().message);
  return *made;
}

relay::relay_options relay_options_of(proxy_options const& o) {
  auto r = o.relay;
  r.upstreams = upstreams_of(o);
  r.tls = tls_of(o);
  if (o.relay.connections_max < 1 || o.relay.connections_max > connections_max_max ||
      o.relay.held_max < 1)
    throw command_error(exit_usage, "--connections-max must be from 1 to " +
                                        std::to_string(connections_max_max) +
                                        ", and --held-max at least 1");
  if (o.check_every < 10ms || o.check_timeout < 10ms || o.hold_max < 10ms)
    throw command_error(exit_usage,
                        "--check-every, --check-timeout and --hold-max must be at least 10ms");
  // A relayed connection needs two file descriptors.
  constexpr std::uint64_t other_files = 64;
  auto const files = server::raise_file_limit();
  auto const room = files > other_files ? (files - other_files) / 2 : 1;
  r.connections_max = std::min<std::size_t>(r.connections_max, room);
  r.held_max = std::min(r.held_max, r.connections_max);
  r.hold_max = std::chrono::ceil<std::chrono::milliseconds>(o.hold_max);
  r.check_every = std::chrono::ceil<std::chrono::milliseconds>(o.check_every);
  r.check_timeout = std::chrono::ceil<std::chrono::milliseconds>(o.check_timeout);
  r.log = [](bool warning, std::string const& line) {
    spdlog::log(warning ? spdlog::level::warn : spdlog::level::info, "{}", line);
  };
  return r;
}

void begin_listening(relay::relay& relay, proxy_options const& o, server::endpoint const& where) {
  asio::ip::tcp::endpoint bound(asio::ip::make_address(where.address), where.port);
  if (auto const error = relay.listen(bound))
    throw command_error(exit_usage,
                        "--listen: " + net::listen_failure(server::to_string(where), error));
  auto const text = server::to_string({bound.address().to_string(), bound.port()});
  if (!o.ready_file.empty())
    if (auto const done = server::write_ready_file(o.ready_file, R"({"listen":")" + text + "\"}");
        !done)
      throw command_error(exit_usage, done.error().message);
  spdlog::info("muster proxy {} listens on {}", version(), text);
}

int run_proxy(proxy_options& o) {
  auto const where = listen_address(o);
  auto relay_options = relay_options_of(o);
  std::signal(SIGPIPE, SIG_IGN);
  server::logging const log(o.log_level, o.log_format);
  if (relay_options.connections_max < o.relay.connections_max)
    spdlog::warn("the limit of open files allows {} connections", relay_options.connections_max);
  asio::io_context io(1);
  relay::relay relay(io, std::move(relay_options));
  begin_listening(relay, o, where);
  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&](boost::system::error_code error, int signal) {
    if (error) return;
    spdlog::info("stopping on {}", signal == SIGINT ? "SIGINT" : "SIGTERM");
    relay.stop();
    boost::system::error_code ignored;
    signals.clear(ignored);  // so that a second signal ends the process
  });
  relay.start();
  io.run();
  spdlog::info("stopped");
  return exit_ok;
}

void add_limits(CLI::App& verb, proxy_options& o) {
  add_count(verb, "--connections-max", o.relay.connections_max,
            "Maximum number of connections; further clients wait in the system's queue");
  add_count(verb, "--held-max", o.relay.held_max,
            "Maximum number of connections held while no server is the leader; further clients "
            "wait in the "
            "system's queue");
  add_duration(verb, "--hold-max", o.hold_max,
               "Time after which a connection that is held without a leader is reset");
  add_duration(verb, "--check-every", o.check_every, "Pause between two checks of a server");
  add_duration(verb, "--check-timeout", o.check_timeout,
               "Time without an answer after which a server no longer counts as the leader");
}

}  // namespace

void add_proxy(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(app, chosen, "proxy",
                                  "Relay connections to the leader of several servers", run_proxy);
  add_value(*verb, "--listen", o->listen, "ADDR:PORT",
            "Address to which agents, workers and clients connect; required");
  add_list(*verb, "--upstream", o->upstream, "HOST:PORT,...",
           "The servers' gRPC addresses; required");
  add_list(*verb, "--upstream-http", o->upstream_http, "HOST:PORT,...",
           "The servers' HTTP addresses, in the order of --upstream, for GET /readyz (default: the "
           "same hosts, port 8477)");
  verb->add_flag("--tls", o->tls,
                 "Request /readyz over TLS; implied by --ca, --cert and --key. Connections are "
                 "relayed unchanged");
  verb->add_flag(
      "--upstream-tls", o->relay.connections_over_tls,
      "Also use TLS to the servers for relayed connections, for agents that use plaintext");
  add_tls_flags(*verb, o->files.ca_file, o->files.certificate_file, o->files.key_file);
  verb->add_flag("--send-proxy-v2", o->relay.send_proxy,
                 "Send the client's address in a PROXY header; the servers need --proxy-from with "
                 "this machine's address");
  add_limits(*verb, *o);
  add_value(*verb, "--ready-file", o->ready_file, "FILE",
            "Write the address to this file when the proxy is listening");
  verb->add_flag("--insecure", o->insecure, "Allow an address that other machines can reach");
  add_logging(*verb, o->log_level, o->log_format);
  verb->footer(
      "A server is the leader if its /readyz returns 200. New connections wait while there is no "
      "leader.\n"
      "Connections to a server that is no longer the leader are reset.\n"
      "Examples:\n"
      "  muster proxy --listen 127.0.0.1:8476 --upstream a.example:8476,b.example:8476\n"
      "  muster proxy --listen :9000 --insecure --upstream a:9000,b:9000   # a cluster's own port\n"
      "  muster proxy --listen 127.0.0.1:8476 --upstream a:8476 --upstream-tls --ca ca.pem \\\n"
      "      --cert worker.pem --key worker.key\n"
      "SIGTERM or Ctrl-C: reset all connections and exit. See\n"
      "docs/high-availability.md#one-address-for-jax-and-tensorflow.");
}

}  // namespace muster::cli
