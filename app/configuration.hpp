// Settings of `muster serve`. Plain data, set by the command line before the start and read-only
// afterwards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "app/cluster_source.hpp"
#include "app/webhooks/webhook_settings.hpp"
#include "base/status.hpp"
#include "server/core/api/config.hpp"
#include "server/core/blobs/blob_table.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"
#include "server/history/store/history_store.hpp"
#include "server/journal/etcd/address.hpp"
#include "web/http/web_options.hpp"

namespace muster::server {

class start_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// IP address and port to listen on. With port 0, the system selects a port.
struct endpoint {
  std::string address;
  std::uint16_t port = 0;

  bool is_loopback() const;
  bool operator==(endpoint const&) const = default;
};

/// Parses "127.0.0.1:8476", "[::1]:0", "localhost:80" (IPv4 loopback) or ":80" (all interfaces).
/// Returns INVALID_ARGUMENT, with the fix in the message, for other texts.
muster::result<endpoint> parse_endpoint(std::string_view text);
std::string to_string(endpoint const& e);

/// If both are 0, the system selects ports.
struct port_range {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  bool operator==(port_range const&) const = default;
};
/// Parses a range such as "9000-9009". Returns INVALID_ARGUMENT, with the fix in the message, for
/// other texts.
muster::result<port_range> parse_port_range(std::string_view text);

enum class log_format { text, json };

enum class auth_mode {
  // Required if the server has tokens, or is reachable from other machines without `insecure`.
  automatic,
  on,
  off,
};

/// A store that several servers share. Only one server is active.
struct shared_store {
  std::optional<journal::etcd::address> where;  // nullopt if there is no etcd store
  std::filesystem::path ca, certificate, key;  // PEM; if empty, the system's CAs and no certificate
  std::filesystem::path password_file;
  core::duration lease = std::chrono::seconds(3);  // whole seconds
  std::uint64_t bytes = std::uint64_t{1} << 30;
  std::string advertise;  // HTTP "host:port" for other servers; the bound address if empty
};

/// PEM files. Without certificate and key, TLS is off.
struct tls_settings {
  std::string certificate, key;
  std::string client_ca;  // if empty, client certificates are not requested
  bool client_required = false;
  // Role of each client certificate by its common name, for example "worker=worker".
  std::vector<std::string> roles{};

  bool on() const { return !certificate.empty() && !key.empty(); }
};

struct connection_settings {
  std::vector<std::string> proxy_from;  // networks of proxies whose PROXY headers are trusted
  /// Maximum bytes in unfinished gRPC messages and header blocks; see net::guard_options.
  std::uint64_t memory_max = std::uint64_t{1} << 30;
};

struct log_settings {
  std::string level = "info";
  server::log_format format = log_format::text;
};

/// Address of the main cluster's TCPStore, and networks whose clients can use any TCPStore.
/// TCPStore clients have no credentials.
struct torch_settings {
  std::optional<endpoint> listen;
  std::vector<std::string> from{"127.0.0.0/8", "::1"};
};

constexpr std::uint64_t connection_memory_least = std::uint64_t{16} << 20;
constexpr std::uint64_t history_bytes_least = std::uint64_t{1} << 20;

struct history_settings {
  std::filesystem::path directory;  // if empty, a subdirectory of data_dir
  history_limits limits;            // the history is disabled if bytes is 0
  std::filesystem::path shown;      // directory to show read-only instead of data_dir
};

struct life_settings {
  std::filesystem::path ready_file;
  bool supervise = false;  // run under a supervisor that restarts the server
  /// Time limit for stopping. Remaining work is abandoned.
  core::duration stop_timeout = std::chrono::seconds(10);
};

struct configuration {
  endpoint grpc{"127.0.0.1", 8476};
  endpoint http{"127.0.0.1", 8477};
  std::filesystem::path data_dir;  // if empty, all data is kept in memory
  shared_store store;
  core::duration commit_delay = std::chrono::milliseconds(2);
  // Directory for values beyond the memory limit; if empty, values are never spilled.
  std::filesystem::path spill_dir;
  history_settings history;
  life_settings life;
  webhook_settings webhooks;
  bool insecure = false;  // listen beyond loopback without credentials
  auth_mode auth = auth_mode::automatic;
  std::filesystem::path token_file;  // accepted tokens; see hub/access/token_file.hpp
  // File for the first admin token; if empty, a file in data_dir.
  std::filesystem::path admin_token_file;
  // Networks whose agents need no token, because unmodified agents send no token; see
  // hub/access/networks.hpp.
  std::vector<std::string> agents_from{"127.0.0.0/8", "::1"};
  torch_settings torch;
  log_settings log;
  core::config core;
  core::blob_limits blobs;
  /// The first cluster uses the port of `grpc`; every other cluster has its own port. If empty, the
  /// server creates the cluster `default`, which has no agents.
  std::vector<core::coordination::cluster_spec> clusters;
  std::vector<cluster_source> cluster_sources;
  port_range cluster_ports;
  /// Limits, host names and origins of HTTP. The server sets all remaining options.
  web::web_options web;
  tls_settings tls;
  connection_settings connections;

  /// Returns whether acknowledged changes survive the process.
  bool is_durable() const { return !data_dir.empty() || store.where || is_read_only(); }
  bool is_read_only() const { return !history.shown.empty(); }
  std::filesystem::path history_directory() const {
    if (!history.directory.empty()) return history.directory;
    auto const& in = is_read_only() ? history.shown : data_dir;
    return in.empty() ? in : in / history_folder;
  }
};

bool is_reachable(configuration const& c);

std::string main_cluster_of(configuration const& c);

/// Returns a one-line reason why the server cannot start with this configuration, with the fix, or
/// an empty string.
std::string problem_with(configuration const& c);

}  // namespace muster::server
