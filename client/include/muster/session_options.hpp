// Options and counters of a session.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "muster/tls_options.hpp"

namespace muster {

/// Options of a session.
struct session_options {
  /// Server address, "host:port", or a comma-separated list of servers, one of which is active.
  std::string server = "127.0.0.1:8476";
  /// TLS settings. By default, the environment's settings apply; without MUSTER_CA, plaintext is
  /// used.
  tls_options tls = tls_options::from_environment();
  /// Cluster name; if empty, the default cluster.
  std::string cluster{};
  /// Session name, shown to operators.
  std::string name{};
  /// Token sent with every call; if empty, it is read from MUSTER_TOKEN or MUSTER_TOKEN_FILE.
  std::string token{};
  /// If true, an error does not cancel other calls. If false, the first error cancels queued calls.
  bool continue_on_error = false;
  /// Maximum number of calls queued at the server. At the limit, the server stops reading calls. 0
  /// means the server's default.
  std::uint64_t queue_capacity = 0;
  /// Maximum number of lost workers; see coordinator_options::max_worker_failures.
  std::optional<std::uint32_t> max_worker_failures{};
  /// Same as max_worker_failures = 0.
  bool unlimited_worker_failures = false;
  /// Fail a call immediately if no connected worker provides its function.
  bool require_function = false;
  /// Number of workers in each stateless job; see coordinator_options::num_workers.
  std::uint32_t num_workers = 0;

  /// Maximum number of unsent calls in this process. At the limit, schedule blocks and try_schedule
  /// returns false.
  std::size_t pending_max = 65'536;
  /// Maximum total bytes of unsent calls in this process.
  std::size_t pending_bytes_max = std::size_t{64} << 20;
  /// Maximum time to wait for the server to open the session.
  std::chrono::milliseconds connect_timeout{10'000};
};

/// Counters of a session since its start.
struct session_stats {
  /// Calls scheduled.
  std::uint64_t scheduled = 0;
  /// Calls that have finished.
  std::uint64_t finished = 0;
  /// Calls that have failed.
  std::uint64_t failed = 0;
  /// Messages sent to the server.
  std::uint64_t messages_sent = 0;
  /// Messages received from the server.
  std::uint64_t messages_received = 0;
};

/// The session has ended or could not be opened. The reason is in what().
class session_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace muster
