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

/// Largest number of lost workers that a closure counts.
inline constexpr std::uint32_t worker_failures_max = 255;

/// After this many lost workers that a closure is blamed for, it runs alone on its worker.
inline constexpr std::uint32_t exclusive_after = 3;

struct config {
  /// Name of the cluster, for views and messages.
  std::string cluster = "default";
  /// Changes are written to a journal. Jobs are durable unless they request otherwise.
  bool durable = false;

  /// A task that is silent for this long is lost, and its closures are requeued. Workers are asked
  /// to send heartbeats three times as often. A task is LATE after 2.5 of those intervals.
  duration heartbeat_timeout = std::chrono::seconds(15);
  duration heartbeat_interval() const { return heartbeat_timeout / 3; }
  duration late_after() const { return heartbeat_interval() * 5 / 2; }
  /// A tick that is late by more than this indicates a stall of the server itself. All tasks are
  /// then granted the lost time.
  duration stall_grace = std::chrono::seconds(1);

  /// A worker whose connection broke may reconnect with the same incarnation within this time and
  /// continue its closures. A closure waits for its worker at most a quarter of the time it has run
  /// there, so that the wait is short compared with the work that it may save. 0: off. Must be less
  /// than heartbeat_timeout.
  duration reconnect_grace = std::chrono::seconds(5);
  /// A task that is lost for longer than this is given up: closures that can run only there fail.
  duration recovery_timeout = std::chrono::hours(1);

  /// The worker with index i gets its first closure i times `start_delay` after it attached, but at
  /// most after `start_delay_max` (0: no maximum).
  duration start_delay{};
  duration start_delay_max{};

  /// A log event is written if nothing finishes for this long while closures run, or are queued
  /// although workers are connected. Repeated after twice that time, four times and so on, at least
  /// once an hour. 0: off.
  duration watchdog{};

  /// A session requeues closures that report a lost dependency. A dependency that is reported this
  /// many times within the window becomes a fatal error. 0: the first report is fatal.
  std::uint32_t transient_dependency_failures = 3;
  /// Likewise for TIMEOUT reported by functions, whatever timed out. `timeouts_by_workers`: a tenth
  /// of the workers at that time, so timeouts are fatal at once with fewer than ten workers.
  std::uint32_t transient_timeouts = timeouts_by_workers;
  static constexpr std::uint32_t timeouts_by_workers = ~0u;
  duration transient_window = std::chrono::minutes(10);
  /// Dependencies of one failure, and those that a session counts at one time. At the limit the
  /// failure is an ordinary error, and the dependency counted longest ago is forgotten.
  std::size_t dependencies_max = 64;
  /// Declared numbers of tasks ("ps" has 2): a lost dependency outside of them is an ordinary
  /// error. Empty: any job, any index.
  std::vector<std::pair<std::string, std::uint32_t>> declared_jobs{};

  /// Jobs whose tasks hold state, such as parameter servers. Only closures that name such a task
  /// run there. When the task is lost, the sessions that relied on it end. It counts as lost if
  /// another incarnation took its place, it deregistered, or it was away for longer than
  /// reconnect_grace.
  std::vector<std::string> stateful_jobs{"ps"};

  /// Time for which a lost or deregistered task stays listed.
  duration task_retention = std::chrono::minutes(10);
  /// Rows of tasks. At the limit, the oldest row of a lost task is removed; if there is none, the
  /// worker is refused.
  std::size_t tasks_max = 20'000;
  /// Distinct function names. At the limit, a request with a new name is refused.
  std::size_t functions_max = 65'536;
  std::size_t function_name_bytes_max = 256;
  /// Names and hashes of callables, such as "train.step" of "python:3.11". At the limit, unused
  /// ones are forgotten; closures of others show only their function.
  std::size_t callables_max = 4'096;
  /// Hashes that are distinguished for one name. At the limit, closures show the name without a
  /// hash.
  std::size_t callable_versions_max = 16;
  /// Functions that one worker may declare. At the limit, the worker is refused.
  std::size_t functions_per_worker_max = 4'096;
  /// Unanswered closures that a worker may hold, whatever it requests.
  std::uint32_t credits_max = 4'096;

  /// Queued closures of a session, unless it requests another capacity (up to queue_capacity_max).
  /// At the limit, a REST submission is refused (429), and a stream is not read until there is
  /// space.
  std::size_t queue_capacity = 262'144;
  std::size_t queue_capacity_max = 16'777'216;
  /// All closures known to the server. At the limit, as queue_capacity.
  std::size_t closures_max = 33'554'432;
  /// Sessions and jobs known at one time. At the limit, the oldest ended session is forgotten, or
  /// else the oldest finished job; if there is none, a new session is refused.
  std::size_t sessions_max = 20'000;
  /// Finished jobs that are kept. At the limit, the oldest is forgotten.
  std::size_t finished_jobs_max = 10'000;
  /// Bytes of values in memory. At the limit, the oldest finished job is forgotten. If there is
  /// none, submissions are refused (429) until values are released. With `spill`, single values are
  /// dropped instead, oldest first.
  std::size_t value_bytes_max = std::size_t{1} << 30;
  /// Time for which finished jobs, and values held by a session, are kept. 0: no limit.
  duration value_age = std::chrono::hours(24 * 7);
  /// Values that one session may hold, and their bytes. At the limit, its oldest value is dropped.
  /// 0: no limit.
  std::size_t session_values_max = 1'000'000;
  std::size_t session_value_bytes_max = 0;
  /// Time for which ended sessions that had closures are listed with their rows, and their number.
  /// At the limit, the session that ended first is forgotten. 0 of either: none are listed.
  duration ended_session_age = std::chrono::hours(24);
  std::size_t ended_sessions_max = 1'000;
  bool keeps_ended_sessions() const {
    return ended_sessions_max > 0 && ended_session_age > duration{};
  }
  /// Rows that closures of a gRPC session leave, without value, when their records are removed. For
  /// each known session, at least this many of the newest rows are kept, and beyond them this many
  /// of the newest failures. 0: none.
  std::size_t session_rows_max = 10'000;
  std::size_t session_failures_max = 1'000;
  /// Bytes of the rows of all sessions, including failure messages. At the limit, the oldest rows
  /// are removed.
  std::size_t session_rows_bytes_max = std::size_t{64} << 20;
  /// Bytes of arguments that are kept for closures without a value, so that their job can be
  /// retried. At the limit, the arguments of the job that ended first are dropped, and it can no
  /// longer be retried.
  std::size_t retry_bytes_max = std::size_t{64} << 20;
  /// Whether the shell can store values on disk. Beyond `spill_above` bytes in memory (0: half of
  /// value_bytes_max) the oldest values are written there, unless they are smaller than
  /// spill_value_bytes_min.
  bool spill = false;
  std::size_t spill_above = 0;
  std::size_t spill_value_bytes_min = 256;
  /// Bytes of values on disk. At the limit, the oldest there is dropped.
  std::size_t spill_bytes_max = std::size_t{64} << 30;
  /// Pause after a failed write, during which no value is written.
  duration spill_retry = std::chrono::seconds(10);
  /// Time for which a resumable session is kept after its client disconnected, unless it requests
  /// another time (up to session_grace_max). Then it is cancelled.
  duration session_grace = std::chrono::seconds(60);
  duration session_grace_max = std::chrono::hours(24);
  /// A detached session is kept while it has work, and at least this long afterwards.
  duration detached_grace = std::chrono::hours(1);
  /// Bytes of all inputs of one closure. Above it, the closure fails with INPUT.
  std::size_t input_bytes_max = std::size_t{32} << 20;
  /// PerWorkerValues at one time. At the limit, a new one is refused.
  std::size_t per_worker_values_max = 10'000;
  /// Calls parked on a join or a value. At the limit, they are refused at once.
  std::size_t parked_calls_max = 100'000;
  /// Bytes of activity spans of the last hour, of all clusters together. At the limit, the oldest
  /// 4,096 spans of the cluster that adds one are removed; readers get the time since which spans
  /// are complete. The sums of each task's minutes are kept: 2 KiB each, so 40 MiB more for
  /// tasks_max tasks.
  std::size_t activity_bytes_max = std::size_t{88} << 20;
  /// Lost workers after which a closure fails, unless its session sets a limit. 0: no limit. At
  /// most worker_failures_max, the largest number that a closure counts. For closures of a client's
  /// generation, created by `schedule`, only ends of their own process count.
  std::uint32_t max_worker_failures = 3;
  /// Pause before a closure that has lost its worker is queued again. It doubles with each loss, up
  /// to `loss_pause_max`.
  duration loss_pause = std::chrono::milliseconds(100);
  duration loss_pause_max = std::chrono::seconds(30);

  program_limits programs{};

  /// Adaptive prefetching. A worker whose closures finish faster than window_grow_below may have
  /// twice as many prefetched, up to its credits. Above window_shrink_above it may have half as
  /// many, down to its slots. This keeps long closures in the shared queue, and workers with short
  /// closures busy.
  duration window_grow_below = std::chrono::milliseconds(10);
  duration window_shrink_above = std::chrono::milliseconds(50);
};

}  // namespace muster::core
