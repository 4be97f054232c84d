// All limits and timeouts of the core, with the behaviour at each limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/core/api/programs.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

/// Maximum number of lost workers that are counted per closure.
inline constexpr std::uint32_t worker_failures_max = 255;

/// A closure that is blamed for the loss of this many workers runs alone on its worker.
inline constexpr std::uint32_t exclusive_after = 3;

struct config {
  std::string cluster = "default";
  /// Changes are journaled, and jobs are durable by default.
  bool durable = false;

  /// A task that is silent for this long is declared lost, and its closures are requeued. Workers
  /// send three heartbeats in this time. After 2.5 heartbeat intervals, a silent task is LATE.
  duration heartbeat_timeout = std::chrono::seconds(15);
  duration heartbeat_interval() const { return heartbeat_timeout / 3; }
  duration late_after() const { return heartbeat_interval() * 5 / 2; }
  /// If a tick is late by more than this, the server stalled, and all heartbeat timeouts are
  /// extended by the delay.
  duration stall_grace = std::chrono::seconds(1);

  /// Time within which a disconnected worker can reconnect as the same incarnation and continue its
  /// closures. Each closure waits for at most a quarter of the time that it has run on the worker.
  /// 0 disables the wait. Must be less than heartbeat_timeout.
  duration reconnect_grace = std::chrono::seconds(5);
  /// Time until a lost task is given up. Closures that can run only on that task then fail.
  duration recovery_timeout = std::chrono::hours(1);

  /// The worker with index i receives its first closure i * start_delay after attaching.
  /// start_delay_max limits this delay; 0 means no limit.
  duration start_delay{};
  duration start_delay_max{};

  /// Logs an event if no closure finishes for this long, although closures are running, or queued
  /// with workers connected. The event is repeated at doubling intervals of at most one hour. 0
  /// disables the watchdog.
  duration watchdog{};

  /// A session fails after this many reports of the same lost dependency within transient_window.
  /// Earlier reports requeue the closure. If 0, the first report is fatal.
  std::uint32_t transient_dependency_failures = 3;
  /// A session fails after this many TIMEOUT reports by functions. `timeouts_by_workers` means a
  /// tenth of the connected workers; with fewer than ten workers, the first report is fatal.
  std::uint32_t transient_timeouts = timeouts_by_workers;
  static constexpr std::uint32_t timeouts_by_workers = ~0u;
  duration transient_window = std::chrono::minutes(10);
  /// Maximum lost dependencies of one failure; a failure with more dependencies is an ordinary
  /// error. A session counts at most this many dependencies, and then drops the oldest.
  std::size_t dependencies_max = 64;
  /// Declared jobs and their task counts. A lost dependency on any other task is an ordinary error.
  /// If empty, all tasks are accepted.
  std::vector<std::pair<std::string, std::uint32_t>> declared_jobs{};

  /// Jobs whose tasks hold state, such as parameter servers. A closure runs on such tasks only if
  /// it names the task. When the state is lost, sessions that relied on it end. State is lost if
  /// the task is replaced by another incarnation, deregistered, or away for longer than
  /// reconnect_grace.
  std::vector<std::string> stateful_jobs{"ps"};

  /// Time for which a lost or deregistered task remains listed.
  duration task_retention = std::chrono::minutes(10);
  /// At the limit, the oldest lost task is removed; if there is none, the new worker is refused.
  std::size_t tasks_max = 20'000;
  /// At the limit, a request with a new function name is refused.
  std::size_t functions_max = 65'536;
  std::size_t function_name_bytes_max = 256;
  /// Maximum callables, such as "train.step" of "python:3.11". At the limit, unused callables are
  /// forgotten; otherwise, further closures show only their function.
  std::size_t callables_max = 4'096;
  /// Maximum hashes per callable name. At the limit, further closures show only the name.
  std::size_t callable_versions_max = 16;
  /// A worker that provides more functions is refused.
  std::size_t functions_per_worker_max = 4'096;
  /// Maximum unanswered closures per worker, even if the worker requests more.
  std::uint32_t credits_max = 4'096;

  /// Default maximum of queued closures per session. At the limit, REST submissions are refused
  /// (429), and the server stops reading the stream until there is space.
  std::size_t queue_capacity = 262'144;
  std::size_t queue_capacity_max = 16'777'216;
  /// Maximum closures known to the server. At the limit, the server behaves as at queue_capacity.
  std::size_t closures_max = 33'554'432;
  /// At the limit, the oldest ended session, otherwise the oldest finished job, is forgotten. If
  /// there is neither, the new session is refused.
  std::size_t sessions_max = 20'000;
  /// At the limit, the oldest finished job is forgotten.
  std::size_t finished_jobs_max = 10'000;
  /// Maximum bytes of values in memory. At the limit, the oldest finished job is forgotten; if
  /// there is none, submissions are refused (429). With `spill`, the oldest values are dropped
  /// instead.
  std::size_t value_bytes_max = std::size_t{1} << 30;
  /// Maximum age of finished jobs and of session values. 0 means no limit.
  duration value_age = std::chrono::hours(24 * 7);
  /// Maximum number and bytes of one session's values. At the limit, its oldest value is dropped. 0
  /// means no limit.
  std::size_t session_values_max = 1'000'000;
  std::size_t session_value_bytes_max = 0;
  /// Maximum age and number of ended sessions that are listed with their closures. At a limit, the
  /// session that ended first is forgotten. If a limit is 0, ended sessions are not listed.
  duration ended_session_age = std::chrono::hours(24);
  std::size_t ended_sessions_max = 1'000;
  bool keeps_ended_sessions() const {
    return ended_sessions_max > 0 && ended_session_age > duration{};
  }
  /// Maximum rows, without values, that a gRPC session keeps for its finished closures. The session
  /// also keeps rows for up to session_failures_max older failures. If 0, no rows are kept.
  std::size_t session_rows_max = 10'000;
  std::size_t session_failures_max = 1'000;
  /// Maximum bytes of all rows, including failure messages. At the limit, the oldest rows are
  /// removed.
  std::size_t session_rows_bytes_max = std::size_t{64} << 20;
  /// Maximum total size, in bytes, of the arguments kept for retries of closures that returned no
  /// value. At the limit, the job that finished first loses its arguments and cannot be retried.
  std::size_t retry_bytes_max = std::size_t{64} << 20;
  /// Values can be stored on disk. If values in memory exceed `spill_above` bytes, the oldest are
  /// written, except values smaller than spill_value_bytes_min. A `spill_above` of 0 means half of
  /// value_bytes_max.
  bool spill = false;
  std::size_t spill_above = 0;
  std::size_t spill_value_bytes_min = 256;
  /// Maximum bytes of values on disk. At the limit, the oldest value is dropped.
  std::size_t spill_bytes_max = std::size_t{64} << 30;
  duration spill_retry = std::chrono::seconds(10);
  /// A resumable session is cancelled when its client has been disconnected for this long. Sessions
  /// can request another time, up to session_grace_max.
  duration session_grace = std::chrono::seconds(60);
  duration session_grace_max = std::chrono::hours(24);
  /// A detached session is kept while it has work, and for at least this long after its work ends.
  duration detached_grace = std::chrono::hours(1);
  /// A closure with larger inputs fails with INPUT.
  std::size_t input_bytes_max = std::size_t{32} << 20;
  /// At the limit, new per-worker values are refused.
  std::size_t per_worker_values_max = 10'000;
  /// Maximum calls that wait for a join or a value. At the limit, new calls are refused
  /// immediately.
  std::size_t parked_calls_max = 100'000;
  /// Maximum bytes of activity spans, in all clusters. At the limit, the oldest 4,096 spans of the
  /// writing cluster are removed, and readers receive the time since which spans are complete.
  /// Per-minute sums are not included: 2 KiB per task, or 40 MiB for tasks_max.
  std::size_t activity_bytes_max = std::size_t{88} << 20;
  /// Number of lost workers after which a closure fails, unless its session sets a different
  /// number. At most worker_failures_max; 0 means no limit. For closures that a client created with
  /// `schedule`, only exits of the closure's own process count.
  std::uint32_t max_worker_failures = 3;
  /// Pause before a closure that lost its worker is queued again. The pause doubles with each loss.
  duration loss_pause = std::chrono::milliseconds(100);
  duration loss_pause_max = std::chrono::seconds(30);

  program_limits programs{};

  /// A worker whose closures finish faster than window_grow_below may prefetch twice as many, up to
  /// its credits. If they take longer than window_shrink_above, it may prefetch half as many, down
  /// to its slots.
  duration window_grow_below = std::chrono::milliseconds(10);
  duration window_shrink_above = std::chrono::milliseconds(50);
};

}  // namespace muster::core
