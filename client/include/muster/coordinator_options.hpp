// Options of a cluster_coordinator and of its calls.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muster/tls_options.hpp"

namespace muster {

/// Options of a cluster_coordinator.
struct coordinator_options {
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
  /// If true, errors do not cancel other calls, and join does not throw errors; fetching a value
  /// throws the error of its call. If false, the first error of a scheduled call cancels the
  /// unfinished scheduled calls. The next schedule, join or done throws this error.
  bool continue_on_error = false;
  /// Maximum number of calls that wait for a worker. At the limit, schedule and submit wait. 0
  /// means the server's --queue-capacity (262,144 by default); the client then waits only while
  /// both the server's queue and pending_max are full.
  std::uint64_t queue_capacity = 0;
  /// Number of lost workers or processes after which a call fails with aborted_error, at most 255.
  /// 0 means no limit. If unset, the server's default (3) applies; for scheduled calls, only exits
  /// of the executing process count towards the limit, not lost workers. The delay before a retry
  /// grows from 0.1 s to 30 s.
  std::optional<std::uint32_t> max_worker_failures{};
  /// Same as max_worker_failures = 0.
  bool unlimited_worker_failures = false;
  /// Fail a call immediately if no connected worker provides its function.
  bool require_function = false;
  /// Number of workers in each stateless job, as returned by context::num_workers. 0 means the
  /// number that the cluster declares or, without a declaration, the highest worker index plus one.
  std::uint32_t num_workers = 0;
  /// Weight of this session when sessions compete for workers, 1 to 1000.
  std::uint32_t weight = 1;

  /// Time to resume the session after the connection was lost. After this time, unfinished calls
  /// fail with unavailable_error. 0 means the server's default, one minute.
  std::chrono::milliseconds session_grace{0};
  /// Keep the session after the coordinator is destroyed: its calls finish, and its values can be
  /// read over REST for one hour.
  bool detached = false;
  /// Keep the session across server restarts. If unset, the session is kept if the server has a
  /// data directory. If true, a server without a data directory refuses the session.
  std::optional<bool> durable{};

  /// Maximum time to wait for the server to open the session.
  std::chrono::milliseconds connect_timeout{10'000};
  /// Maximum time that schedule and submit wait for a full queue before they throw wait_timeout. 0
  /// means no limit.
  std::chrono::milliseconds schedule_timeout{0};
  /// Maximum number of unsent calls in this process. At the limit, schedule waits.
  std::size_t pending_max = 65'536;
  /// Maximum total bytes of unsent calls in this process.
  std::size_t pending_bytes_max = std::size_t{64} << 20;
};

/// Options of one call.
struct closure_options {
  /// Calls with a higher priority are dispatched first.
  std::int32_t priority = 0;
  /// Minimum delay before the call starts, from now.
  std::chrono::milliseconds delay{0};
  /// Time from now within which the call must finish; otherwise it fails with TIMEOUT. 0 means no
  /// limit.
  std::chrono::milliseconds deadline{0};
  /// Maximum number of retries of a call whose function threw.
  std::uint32_t max_retries = 0;
  /// Delay before the first retry. Doubles with each retry, up to retry_max.
  std::chrono::milliseconds retry_initial{1'000};
  /// Maximum delay before a retry.
  std::chrono::milliseconds retry_max{60'000};
  /// Run only on tasks of this job.
  std::string task_job{};
  /// Run only on this task of task_job; -1 means any task.
  std::int64_t task_index = -1;
  /// Run only on workers that have all of these labels.
  std::vector<std::pair<std::string, std::string>> labels{};
  /// Amounts of worker resources that the call occupies while it runs.
  std::vector<std::pair<std::string, std::uint32_t>> resources{};
  /// Name shown instead of the function name in listings, explain, the dashboard, traces and
  /// metrics, for example "train.step". At most 256 bytes; if empty, the function name is shown.
  std::string display_name{};
  /// SHA-256 of the callable behind display_name, as 64 hexadecimal digits; can be empty.
  std::string callable{};

  /// Compares all fields.
  bool operator==(closure_options const&) const = default;
};

}  // namespace muster
