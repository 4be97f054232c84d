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
  /// Addresses of servers, "host:port", which are tried in turn.
  std::vector<std::string> servers{"127.0.0.1:8476"};
  /// Addresses of servers as one string, "host:port", separated by commas. If set, `servers` is
  /// ignored.
  std::string server{};
  /// TLS settings; plaintext if unset.
  tls_options tls{};
  /// Name of the cluster; empty: the cluster of the server's port.
  std::string cluster{};
  /// Token sent with every call. Empty: the environment variable MUSTER_TOKEN or MUSTER_TOKEN_FILE.
  std::string token{};
  /// If the server has no such cluster: true retries until it is declared; false makes run() return
  /// 1, unless the server has accepted this worker before.
  bool wait_for_cluster = false;
  /// Job of the worker.
  std::string job = "worker";
  /// Index of the worker in its job; unset: the server selects one.
  std::optional<std::uint32_t> index{};
  /// Number of calls that run at the same time, each on its own thread; at least 1.
  std::uint32_t slots = 1;
  /// Maximum number of unanswered calls that the worker holds; the server can reduce it. 0: max(2 *
  /// slots, 16).
  std::uint32_t credits = 0;
  /// Labels by which calls select workers.
  std::map<std::string, std::string> labels{};
  /// Amount of each resource for calls that request some, for example {"gpu", 2}.
  std::map<std::string, std::uint32_t> resources{};
  /// Name of the host; empty: the name of this machine.
  std::string host{};
  /// Version of the program, shown to operators.
  std::string version{};

  /// Delay before the first attempt to reconnect; doubled with each attempt, with jitter.
  std::chrono::milliseconds backoff_min{100};
  /// Longest delay before an attempt to reconnect.
  std::chrono::milliseconds backoff_max{5'000};
  /// Duration of a connection after which the delay starts again at backoff_min.
  std::chrono::milliseconds backoff_reset_after{5'000};
  /// Time from opening a connection to the server's acceptance, after which the next server is
  /// tried.
  std::chrono::milliseconds connect_timeout{10'000};
  /// Time that functions have to finish after stop() or a drain by the server; then they are asked
  /// to stop.
  std::chrono::milliseconds drain_timeout{30'000};
  /// End, as after stop(), when the worker has had neither calls nor ranks of programs for this
  /// long, connected or not. 0: never.
  std::chrono::milliseconds idle_timeout{0};
};

}  // namespace muster
