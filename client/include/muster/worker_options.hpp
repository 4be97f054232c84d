// Options of a worker.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/tls_options.hpp"

namespace muster {

/// Options of a worker.
struct worker_options {
  /// Server addresses, "host:port", tried in turn.
  std::vector<std::string> servers{"127.0.0.1:8476"};
  /// Server addresses as one comma-separated string. If set, `servers` is ignored.
  std::string server{};
  /// TLS settings. By default, the environment's settings apply; without MUSTER_CA, plaintext is
  /// used.
  tls_options tls = tls_options::from_environment();
  /// Cluster name; if empty, the cluster of the server's port.
  std::string cluster{};
  /// Token sent with every call; if empty, it is read from MUSTER_TOKEN or MUSTER_TOKEN_FILE.
  std::string token{};
  /// Retry if the server does not have this worker's cluster, until the cluster is declared. If
  /// false, run() returns 1 in this case, unless the server has accepted this worker before.
  bool wait_for_cluster = false;
  /// The worker's job name.
  std::string job = "worker";
  /// Index of the worker in its job; if unset, the server selects it.
  std::optional<std::uint32_t> index{};
  /// Number of calls that run at the same time, each on its own thread; at least 1.
  std::uint32_t slots = 1;
  /// Maximum number of unanswered calls assigned to the worker; the server can reduce it. 0 means
  /// max(2 * slots, 16).
  std::uint32_t credits = 0;
  /// Labels by which calls select workers.
  std::map<std::string, std::string> labels{};
  /// Amounts of resources that calls can request, for example {"gpu", 2}.
  std::map<std::string, std::uint32_t> resources{};
  /// Host name; if empty, the name of this machine.
  std::string host{};
  /// Program version, shown to operators.
  std::string version{};

  /// Delay before the first reconnection attempt. Doubles with each attempt; jitter is added.
  std::chrono::milliseconds backoff_min{100};
  /// Maximum delay before a reconnection attempt.
  std::chrono::milliseconds backoff_max{5'000};
  /// Connection time after which the delay is reset to backoff_min.
  std::chrono::milliseconds backoff_reset_after{5'000};
  /// Maximum time for a server to accept the worker; after this time, the worker tries the next
  /// server.
  std::chrono::milliseconds connect_timeout{10'000};
  /// Time for functions to finish after stop() or a drain by the server. After this time, they are
  /// asked to stop.
  std::chrono::milliseconds drain_timeout{30'000};
  /// Time without calls and program ranks after which the worker stops, connected or not, as after
  /// stop(). 0 disables this.
  std::chrono::milliseconds idle_timeout{0};
};

}  // namespace muster
