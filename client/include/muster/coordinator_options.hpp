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
  /// If true, errors do not cancel other calls and join throws none; each value has its own error.
  /// If false, the first error cancels the unfinished scheduled calls and is thrown.
  bool continue_on_error = false;
  /// Maximum number of calls that wait for a worker. When it is reached, schedule and submit wait.
  /// 0: the server's --queue-capacity (262,144 by default); the client then waits only when both
  /// the server's queue and pending_max are full.
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
  /// Weight of this session when sessions compete for workers, 1 to 1000.
  std::uint32_t weight = 1;

  /// Time to resume the session after the connection is lost. When it has passed, unfinished calls
  /// fail with unavailable_error. 0: the server's default, one minute.
  std::chrono::milliseconds session_grace{0};
  /// Keep the session after the coordinator ends: its calls finish, and its values can be read over
  /// REST for one hour.
  bool detached = false;
  /// Keep the session across restarts of the server. Unset: if the server has a data directory.
  /// True: the server refuses the session if it has none.
  std::optional<bool> durable{};

  /// Longest wait for the server to open the session.
  std::chrono::milliseconds connect_timeout{10'000};
  /// Longest wait of schedule and submit for a full queue, after which they throw wait_timeout. 0:
  /// no limit.
  std::chrono::milliseconds schedule_timeout{0};
  /// Maximum number of calls that wait in this process to be sent; schedule waits at the limit.
  std::size_t pending_max = 65'536;
  /// Maximum size of the calls that wait in this process to be sent, in bytes.
  std::size_t pending_bytes_max = std::size_t{64} << 20;
};

/// Options of one call; see cluster_coordinator::with.
struct closure_options {
  /// Calls with a higher priority are dispatched first.
  std::int32_t priority = 0;
  /// Earliest start, from now.
  std::chrono::milliseconds delay{0};
  /// Time from now within which the call must finish, or it fails with TIMEOUT; 0: no limit.
  std::chrono::milliseconds deadline{0};
  /// How often a call whose function threw is retried.
  std::uint32_t max_retries = 0;
  /// Delay before the first retry; doubled with each retry, up to retry_max.
  std::chrono::milliseconds retry_initial{1'000};
  /// Longest delay before a retry.
  std::chrono::milliseconds retry_max{60'000};
  /// Run only on tasks of this job.
  std::string task_job{};
  /// Run only on this task of task_job; -1: any.
  std::int64_t task_index = -1;
  /// Run only on workers that have all of these labels.
  std::vector<std::pair<std::string, std::string>> labels{};
  /// Amounts of the worker's resources that the call occupies while it runs.
  std::vector<std::pair<std::string, std::uint32_t>> resources{};
  /// Name to show instead of the function in listings, explain, the dashboard, traces and metrics,
  /// for example "train.step". Up to 256 bytes; empty: the function's name.
  std::string display_name{};
  /// SHA-256 of the callable behind display_name, 64 hexadecimal digits; may be empty.
  std::string callable{};

  /// Compares all fields.
  bool operator==(closure_options const&) const = default;
};

}  // namespace muster
