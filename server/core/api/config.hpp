// All limits and times of the core. Each states what happens at the limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/core/api/programs.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

/// Lost workers are counted up to this number, per closure.
inline constexpr std::uint32_t worker_failures_max = 255;

/// A closure that is blamed for this many lost workers runs alone on its worker.
inline constexpr std::uint32_t exclusive_after = 3;

struct config {
  /// Name of the cluster, for views and messages.
  std::string cluster = "default";
  /// Changes are journaled, and jobs are durable by default.
  bool durable = false;

  /// A task silent for this long is lost, and its closures are requeued. Workers send heartbeats
  /// three times as often. After 2.5 of those intervals a task is LATE.
  duration heartbeat_timeout = std::chrono::seconds(15);
  duration heartbeat_interval() const { return heartbeat_timeout / 3; }
  duration late_after() const { return heartbeat_interval() * 5 / 2; }
  /// A tick that is later than this is a stall of the server itself; all tasks are granted the lost
  /// time.
  duration stall_grace = std::chrono::seconds(1);

  /// Time for a worker to reconnect with the same incarnation and continue its closures. A closure
  /// waits at most a quarter of the time it has run there, so that the wait stays short compared
  /// with the work saved. 0: off. Less than heartbeat_timeout.
  duration reconnect_grace = std::chrono::seconds(5);
  /// A task lost for longer is given up: closures that can run only there fail.
  duration recovery_timeout = std::chrono::hours(1);

  /// The worker with index i gets no closures for i times `start_delay` after attaching, but at
  /// most for `start_delay_max` (0: no maximum).
  duration start_delay{};
  duration start_delay_max{};

  /// Logs an event if nothing finishes for this long while closures run, or are queued although
  /// workers are connected. Repeats after two, four, … times as long, at least once an hour. 0:
  /// off.
  duration watchdog{};

  /// A session requeues closures that report a lost dependency. This many reports of the same
  /// dependency within the window are fatal. 0: the first is.
  std::uint32_t transient_dependency_failures = 3;
  /// The same limit for TIMEOUT reported by functions. `timeouts_by_workers`: a tenth of the
  /// present workers; with fewer than ten, the first is fatal.
  std::uint32_t transient_timeouts = timeouts_by_workers;
  static constexpr std::uint32_t timeouts_by_workers = ~0u;
  duration transient_window = std::chrono::minutes(10);
  /// Dependencies of one failure; above it, the failure is an ordinary error. Also those that a
  /// session counts at one time; above it, the one counted longest ago is forgotten.
  std::size_t dependencies_max = 64;
  /// Declared tasks ("ps" has 2). A lost dependency outside of them is an ordinary error. Empty:
  /// any job and index.
  std::vector<std::pair<std::string, std::uint32_t>> declared_jobs{};

  /// Jobs whose tasks hold state, such as parameter servers. Only closures that name such a task
  /// run there. When it is lost, sessions that relied on it end. It is lost if it was replaced by
  /// another incarnation, deregistered, or was away for longer than reconnect_grace.
  std::vector<std::string> stateful_jobs{"ps"};

  /// Time for which a lost or deregistered task stays listed.
  duration task_retention = std::chrono::minutes(10);
  /// Rows of tasks. At the limit, the oldest lost one is removed, or else the worker is refused.
  std::size_t tasks_max = 20'000;
  /// Distinct names. At the limit, a request with a new one is refused.
  std::size_t functions_max = 65'536;
  std::size_t function_name_bytes_max = 256;
  /// Callables, such as "train.step" of "python:3.11". At the limit, unused ones are forgotten;
  /// further closures show only their function.
  std::size_t callables_max = 4'096;
  /// Hashes of one name. At the limit, further closures show the name only.
  std::size_t callable_versions_max = 16;
  /// Per worker. At the limit, the worker is refused.
  std::size_t functions_per_worker_max = 4'096;
  /// Unanswered closures of a worker, whatever it requests.
  std::uint32_t credits_max = 4'096;

  /// Queued closures of a session, unless it requests another capacity. At the limit, REST
  /// submissions are refused (429), and a stream is not read until there is space.
  std::size_t queue_capacity = 262'144;
  std::size_t queue_capacity_max = 16'777'216;
  /// All closures known to the server. At the limit, as queue_capacity.
  std::size_t closures_max = 33'554'432;
  /// Sessions and jobs. At the limit, the oldest ended session is forgotten, or else the oldest
  /// finished job; otherwise the new one is refused.
  std::size_t sessions_max = 20'000;
  /// At the limit, the oldest is forgotten.
  std::size_t finished_jobs_max = 10'000;
  /// Bytes of values in memory. At the limit, the oldest finished job is forgotten; without any,
  /// submissions are refused (429). With `spill`, single values are dropped instead, oldest first.
  std::size_t value_bytes_max = std::size_t{1} << 30;
  /// Time for which finished jobs, and values of sessions, are kept. 0: no limit.
  duration value_age = std::chrono::hours(24 * 7);
  /// Values of one session, and their bytes. At the limit, its oldest is dropped. 0: no limit.
  std::size_t session_values_max = 1'000'000;
  std::size_t session_value_bytes_max = 0;
  /// Time and number for which ended sessions with closures are listed. At the limit, the one that
  /// ended first is forgotten. 0 of either: none.
  duration ended_session_age = std::chrono::hours(24);
  std::size_t ended_sessions_max = 1'000;
  bool keeps_ended_sessions() const {
    return ended_sessions_max > 0 && ended_session_age > duration{};
  }
  /// Rows, without value, that remain of a gRPC session's closures. Each session keeps at least
  /// this many of the newest, and beyond them this many of the newest failures. 0: none.
  std::size_t session_rows_max = 10'000;
  std::size_t session_failures_max = 1'000;
  /// Bytes of all rows, including failure messages. At the limit, the oldest are removed.
  std::size_t session_rows_bytes_max = std::size_t{64} << 20;
  /// Bytes of arguments kept for retries of closures without a value. At the limit, those of the
  /// job that ended first are dropped, and it cannot be retried.
  std::size_t retry_bytes_max = std::size_t{64} << 20;
  /// The shell can store values on disk: the oldest ones beyond `spill_above` bytes in memory (0:
  /// half of value_bytes_max), unless smaller than spill_value_bytes_min.
  bool spill = false;
  std::size_t spill_above = 0;
  std::size_t spill_value_bytes_min = 256;
  /// Bytes of values on disk. At the limit, the oldest is dropped.
  std::size_t spill_bytes_max = std::size_t{64} << 30;
  /// Pause after a failed write.
  duration spill_retry = std::chrono::seconds(10);
  /// Time for which a resumable session is kept without its client before it is cancelled, unless
  /// it requests another time (up to session_grace_max).
  duration session_grace = std::chrono::seconds(60);
  duration session_grace_max = std::chrono::hours(24);
  /// A detached session is kept while it has work, and at least this long after it.
  duration detached_grace = std::chrono::hours(1);
  /// Bytes of a closure's inputs. Above it, the closure fails with INPUT.
  std::size_t input_bytes_max = std::size_t{32} << 20;
  /// At the limit, a new one is refused.
  std::size_t per_worker_values_max = 10'000;
  /// Calls parked on a join or a value. At the limit, refused at once.
  std::size_t parked_calls_max = 100'000;
  /// Bytes of activity spans of the last hour, all clusters together. At the limit, the oldest
  /// 4,096 of the writing cluster are removed; readers get the time since which spans are complete.
  /// Sums by minute are kept: 2 KiB per task, or 40 MiB for tasks_max.
  std::size_t activity_bytes_max = std::size_t{88} << 20;
  /// Lost workers after which a closure fails, unless its session sets a limit. 0: no limit. At
  /// most worker_failures_max. For closures of a client's generation, created by `schedule`, only
  /// ends of their own process count.
  std::uint32_t max_worker_failures = 3;
  /// Pause before a closure that lost its worker is queued again. It doubles with each loss.
  duration loss_pause = std::chrono::milliseconds(100);
  duration loss_pause_max = std::chrono::seconds(30);

  program_limits programs{};

  /// A worker whose closures finish faster than window_grow_below may prefetch twice as many, up to
  /// its credits; above window_shrink_above half as many, down to its slots. Long closures thus
  /// stay in the shared queue.
  duration window_grow_below = std::chrono::milliseconds(10);
  duration window_shrink_above = std::chrono::milliseconds(50);
};

}  // namespace muster::core
