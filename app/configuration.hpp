// What `muster serve` was asked to do: addresses, files, logging, limits. Plain data, filled by the
// command line before anything starts and read-only from then on.
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

/// Why the server could not start, in one line.
class start_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Where to listen: an IP address and a port; port 0 lets the system pick one.
struct endpoint {
  std::string address;
  std::uint16_t port = 0;

  bool is_loopback() const;
  bool operator==(endpoint const&) const = default;
};

/// "127.0.0.1:8476", "[::1]:0", "localhost:80" (IPv4 loopback), ":80" (every interface).
/// Errors: INVALID_ARGUMENT, in one line that says what to write instead.
muster::result<endpoint> parse_endpoint(std::string_view text);
std::string to_string(endpoint const& e);

/// Inclusive; 0 and 0: whatever the system picks.
struct port_range {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  bool operator==(port_range const&) const = default;
};
/// "9000-9009". Errors: INVALID_ARGUMENT, in one line that says what to write instead.
muster::result<port_range> parse_port_range(std::string_view text);

enum class log_format { text, json };

/// Whether everybody must say who they are.
enum class auth_mode {
  automatic,  // where others can reach the server (unless it is `insecure`), or tokens are known
  on,
  off,
};

/// A store that several servers have in common, of which one serves.
struct shared_store {
  std::optional<journal::etcd::address> where;     // none: there is none
  std::filesystem::path ca, certificate, key;      // PEM; empty: the system's, none
  std::filesystem::path password_file;             // its first line
  core::duration lease = std::chrono::seconds(3);  // whole seconds
  std::uint64_t bytes = std::uint64_t{1} << 30;    // see etcd::store_options
  std::string advertise;  // "host:port" of HTTP that others name; empty: as bound
};

/// PEM files; certificate and key empty: plaintext is spoken.
struct tls_settings {
  std::string certificate, key;
  std::string client_ca;  // clients may show a certificate of this authority; empty: not asked
  bool client_required = false;  // they must
  // Common names in their certificates and what whoever shows one is: "worker=worker".
  std::vector<std::string> roles{};

  bool on() const { return !certificate.empty() && !key.empty(); }
};

struct connection_settings {
  std::vector<std::string> proxy_from;  // networks of relays whose PROXY headers are believed
  /// Bytes that unfinished gRPC messages and header blocks take; see net::guard_options.
  std::uint64_t memory_max = std::uint64_t{1} << 30;
};

struct log_settings {
  std::string level = "info";
  server::log_format format = log_format::text;
};

/// Where the main cluster's store of torch.distributed is served, and networks whose clients of any
/// such store are let in: they have no credentials.
struct torch_settings {
  std::optional<endpoint> listen;
  std::vector<std::string> from{"127.0.0.0/8", "::1"};
};

constexpr std::uint64_t connection_memory_least = std::uint64_t{16} << 20;
constexpr std::uint64_t history_bytes_least = std::uint64_t{1} << 20;

/// What people look at of the past, for the next start.
struct history_settings {
  std::filesystem::path directory;  // empty: in data_dir
  history_limits limits;            // no bytes: nothing is kept
  std::filesystem::path shown;      // instead of data_dir: nothing in it is changed
};

/// How it is started, watched and stopped.
struct life_settings {
  std::filesystem::path ready_file;  // empty: none
  bool supervise = false;            // by a parent that keeps its sockets and starts it again
  /// How long a stop may take before what is left is abandoned.
  core::duration stop_timeout = std::chrono::seconds(10);
};

struct configuration {
  endpoint grpc{"127.0.0.1", 8476};
  endpoint http{"127.0.0.1", 8477};
  std::filesystem::path data_dir;                              // empty: everything is in memory
  shared_store store;                                          // instead of data_dir
  core::duration commit_delay = std::chrono::milliseconds(2);  // see journal_options
  std::filesystem::path spill_dir;  // for values that take too much memory; empty: none
  history_settings history;
  life_settings life;
  webhook_settings webhooks;
  bool insecure = false;  // listen wider than loopback without credentials
  auth_mode auth = auth_mode::automatic;
  std::filesystem::path token_file;        // tokens that are known, see hub/access/token_file.hpp
  std::filesystem::path admin_token_file;  // where the first admin's goes; empty: in data_dir
  // Networks whose agents need no token, as unmodified ones carry none; see
  // hub/access/networks.hpp.
  std::vector<std::string> agents_from{"127.0.0.0/8", "::1"};
  torch_settings torch;
  log_settings log;
  core::config core;
  core::blob_limits blobs;
  /// The first is served on the port of `grpc`, each other one on a port of its own. None: the
  /// cluster `default`, without agents.
  std::vector<core::coordination::cluster_spec> clusters;
  /// Declared behind those, and followed.
  std::vector<cluster_source> cluster_sources;
  port_range cluster_ports;
  /// Limits, names and origins of HTTP; the rest of it is the server's.
  web::web_options web;
  tls_settings tls;  // of both ports
  connection_settings connections;

  /// What it promises outlives the process.
  bool is_durable() const { return !data_dir.empty() || store.where || is_read_only(); }
  bool is_read_only() const { return !history.shown.empty(); }
  /// Empty: there is none.
  std::filesystem::path history_directory() const {
    if (!history.directory.empty()) return history.directory;
    auto const& in = is_read_only() ? history.shown : data_dir;
    return in.empty() ? in : in / history_folder;
  }
};

/// Somebody on another machine can connect.
bool is_reachable(configuration const& c);

/// Of the cluster of the main port.
std::string main_cluster_of(configuration const& c);

/// Empty when the server may start with this; else the reason and the remedy, in one line.
std::string problem_with(configuration const& c);

}  // namespace muster::server
