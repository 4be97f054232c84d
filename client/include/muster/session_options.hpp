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
  /// Address of the server, "host:port"; or a comma-separated list, of which one server is active.
  std::string server = "127.0.0.1:8476";
  /// TLS settings; plaintext if unset.
  tls_options tls{};
  /// Name of the cluster; empty: the default cluster.
  std::string cluster{};
  /// Name of the session, shown to operators.
  std::string name{};
  /// Token sent with every call. Empty: the environment variable MUSTER_TOKEN or MUSTER_TOKEN_FILE.
  std::string token{};
  /// If true, errors do not cancel other calls. If false, the first error cancels queued calls.
  bool continue_on_error = false;
  /// Maximum number of calls queued at the server, which stops reading at the limit. 0: its
  /// default.
  std::uint64_t queue_capacity = 0;
  /// Number of lost workers or processes after which a call fails with aborted_error, up to 255; 0:
  /// no limit. Unset: the server's default, 3. Scheduled calls then survive any number of lost
  /// workers, and only exits of the executing process count. The delay before a retry grows from
  /// 0.1 s to 30 s.
  std::optional<std::uint32_t> max_worker_failures{};
  /// Same as max_worker_failures = 0.
  bool unlimited_worker_failures = false;
  /// Fail a call at once if no connected worker has its function.
  bool require_function = false;
  /// Number of workers in each stateless job, as reported to functions by context::num_workers. It
  /// does not depend on how many are connected. 0: as the cluster declares it, otherwise the
  /// highest index plus one.
  std::uint32_t num_workers = 0;

  /// Maximum number of calls that wait in this process to be sent. At the limit, schedule blocks
  /// and try_schedule returns false.
  std::size_t pending_max = 65'536;
  /// Maximum size of the calls that wait in this process to be sent, in bytes.
  std::size_t pending_bytes_max = std::size_t{64} << 20;
  /// Longest wait for the server to open the session.
  std::chrono::milliseconds connect_timeout{10'000};
};

/// Counters of a session since it began.
struct session_stats {
  /// Calls scheduled.
  std::uint64_t scheduled = 0;
  /// Calls that have ended.
  std::uint64_t finished = 0;
  /// Calls that have ended with a failure.
  std::uint64_t failed = 0;
  /// Messages sent to the server.
  std::uint64_t messages_sent = 0;
  /// Messages received from the server.
  std::uint64_t messages_received = 0;
};

/// The session has ended or could not be opened; what() is the reason.
class session_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace muster
