// Every limit and time of the core, in one place. What happens at a limit is said beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/core/api/programs.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

/// A closure counts lost workers this far.
inline constexpr std::uint32_t worker_failures_max = 255;

/// From this many lost workers on that it is blamed for, a closure runs alone on its worker.
inline constexpr std::uint32_t exclusive_after = 3;

struct config {
  /// Whose closures these are, for views and texts.
  std::string cluster = "default";
  /// What changes is written down: jobs are durable unless they say otherwise.
  bool durable = false;

  /// Silent for this long: the task is lost and its closures go back. A worker is told to beat
  /// three times as often; it is LATE at 2.5 of those intervals.
  duration heartbeat_timeout = std::chrono::seconds(15);
  duration heartbeat_interval() const { return heartbeat_timeout / 3; }
  duration late_after() const { return heartbeat_interval() * 5 / 2; }
  /// A tick that comes later than this was our own stall: every task gets the lost time back.
  duration stall_grace = std::chrono::seconds(1);

  /// A worker whose connection broke may come back with the same incarnation for this long and goes
  /// on with what it runs. A closure waits no longer than a quarter of the time it has run there,
  /// so that what is staked stays small beside what may be saved. 0: off. Less than
  /// heartbeat_timeout.
  duration reconnect_grace = std::chrono::seconds(5);
  /// A task that is gone for this long is given up: what waits only for it fails.
  duration recovery_timeout = std::chrono::hours(1);

  /// The worker with index i gets no closures for i times `start_delay`, at most `start_delay_max`
  /// (0: no cap), after it came.
  duration start_delay{};
  duration start_delay_max{};

  /// Nothing finished for this long with closures running, or queued beside workers: a log event,
  /// and again after twice that time, four times and so on, at least once an hour. 0: off.
  duration watchdog{};

  /// A session puts closures back whose function says that a dependency is lost; the report of the
  /// same dependency that is this one's number within the window is fatal. 0: the first one is.
  std::uint32_t transient_dependency_failures = 3;
  /// The same for TIMEOUT reported by functions, whatever timed out: fatal at this number.
  /// `timeouts_by_workers`: a tenth of the workers at that time, so off below ten.
  std::uint32_t transient_timeouts = timeouts_by_workers;
  static constexpr std::uint32_t timeouts_by_workers = ~0u;
  duration transient_window = std::chrono::minutes(10);
  /// Dependencies of one failure, and those a session counts at one time. More: the failure is an
  /// error of its own; the one counted longest ago is forgotten.
  std::size_t dependencies_max = 64;
  /// Tasks that exist by declaration ("ps" has 2): a dependency beyond them is an error of its own.
  /// Empty: any job, any index.
  std::vector<std::pair<std::string, std::uint32_t>> declared_jobs{};

  /// Jobs whose tasks hold state, such as parameter servers: closures go there by name alone, and
  /// when such a task is lost, the sessions that relied on it end. Lost: another incarnation took
  /// its place, it said good-bye, or it was away for longer than reconnect_grace.
  std::vector<std::string> stateful_jobs{"ps"};

  /// A dead or departed task stays listed this long, then its row is forgotten.
  duration task_retention = std::chrono::minutes(10);
  /// Rows of tasks. Full: the oldest dead row makes room, else the worker is refused.
  std::size_t tasks_max = 20'000;
  /// Distinct function names. Full: the request that names a new one is refused.
  std::size_t functions_max = 65'536;
  std::size_t function_name_bytes_max = 256;
  /// Names and hashes of callables, such as "train.step" of "python:3.11". Full: those that nothing
  /// refers to are forgotten; closures of others show their function alone.
  std::size_t callables_max = 4'096;
  /// Hashes of one name that are told apart. More: closures show the name without a hash.
  std::size_t callable_versions_max = 16;
  /// Functions one worker may declare. More: the worker is refused.
  std::size_t functions_per_worker_max = 4'096;
  /// Closures a worker may hold unanswered, whatever it asks for.
  std::uint32_t credits_max = 4'096;

  /// Queued closures of a session unless it asks for another capacity (up to queue_capacity_max).
  /// Full: a REST submission is refused (429), a stream is not read from until there is room.
  std::size_t queue_capacity = 262'144;
  std::size_t queue_capacity_max = 16'777'216;
  /// All closures known to the server. Full: as above.
  std::size_t closures_max = 33'554'432;
  /// Sessions and jobs known at one time. Full: the oldest ended session is forgotten, then the
  /// oldest finished job, else refused.
  std::size_t sessions_max = 20'000;
  /// Finished jobs kept for look-up. More: the oldest is forgotten.
  std::size_t finished_jobs_max = 10'000;
  /// Bytes of values kept in memory. More: the oldest finished job is forgotten; with none left,
  /// submissions are refused (429) until values are released. With `spill` single values are
  /// dropped instead, the oldest first.
  std::size_t value_bytes_max = std::size_t{1} << 30;
  /// Finished jobs, and values that a session holds, are kept for this long; 0: no limit.
  duration value_age = std::chrono::hours(24 * 7);
  /// Values one session may hold, and their bytes. More: its oldest is dropped. 0: no limit.
  std::size_t session_values_max = 1'000'000;
  std::size_t session_value_bytes_max = 0;
  /// Ended sessions that had closures are listed, with their rows, for this long and this many of
  /// them. More: the one that ended first is forgotten. 0 of either: none.
  duration ended_session_age = std::chrono::hours(24);
  std::size_t ended_sessions_max = 1'000;
  bool keeps_ended_sessions() const {
    return ended_sessions_max > 0 && ended_session_age > duration{};
  }
  /// A gRPC session's closures leave a row, without value, when their record goes: of each session
  /// that is known at least as many of the newest, and beyond them as many of the newest that
  /// failed. 0: none.
  std::size_t session_rows_max = 10'000;
  std::size_t session_failures_max = 1'000;
  /// Bytes of the rows of all sessions, with what their failures say. More: the oldest go.
  std::size_t session_rows_bytes_max = std::size_t{64} << 20;
  /// Arguments of closures that ended without a value are kept for this many bytes, so that their
  /// job can be retried. More: those of the job that ended first are forgotten, and it cannot be
  /// retried any more.
  std::size_t retry_bytes_max = std::size_t{64} << 20;
  /// The shell can keep values on a disk: beyond `spill_above` bytes in memory (0: half of
  /// value_bytes_max) the oldest are written there, as far as they have spill_value_bytes_min.
  bool spill = false;
  std::size_t spill_above = 0;
  std::size_t spill_value_bytes_min = 256;
  /// Bytes of values on the disk. More: the oldest there is dropped.
  std::size_t spill_bytes_max = std::size_t{64} << 30;
  /// Nothing is written for this long after a write that failed.
  duration spill_retry = std::chrono::seconds(10);
  /// A resumable session whose client vanished is kept this long unless it asked for another time
  /// (up to session_grace_max), then cancelled.
  duration session_grace = std::chrono::seconds(60);
  duration session_grace_max = std::chrono::hours(24);
  /// A detached one is kept for as long as it has work, and after that for at least this.
  duration detached_grace = std::chrono::hours(1);
  /// Bytes of all inputs of one closure. More: it fails with INPUT.
  std::size_t input_bytes_max = std::size_t{32} << 20;
  /// PerWorkerValues at one time. Full: a new one is refused.
  std::size_t per_worker_values_max = 10'000;
  /// Calls parked on a join or a value. Full: refused at once.
  std::size_t parked_calls_max = 100'000;
  /// Bytes of spans of what workers did in the last hour, of all clusters together. Full: the
  /// oldest 4,096 of the cluster that writes go; readers are told since when spans are complete.
  /// The sums of each task's minutes stay: 2 KiB each, so 40 MiB more for tasks_max of them.
  std::size_t activity_bytes_max = std::size_t{88} << 20;
  /// Lost workers after which a closure fails, where its session sets no limit of its own; 0: no
  /// limit. At most worker_failures_max, as far as a closure counts. Closures of a client's
  /// generation, as `schedule` makes them, only count ends of their own process towards it.
  std::uint32_t max_worker_failures = 3;
  /// Pause before a closure that has lost its worker is queued again. It doubles with each loss, up
  /// to `loss_pause_max`.
  duration loss_pause = std::chrono::milliseconds(100);
  duration loss_pause_max = std::chrono::seconds(30);

  program_limits programs{};

  /// A worker whose closures come back faster than this may have twice as many prefetched, up to
  /// its credits; slower than `window_shrink_above`, half as many, down to its slots. Keeps long
  /// closures in the shared queue and short ones flowing.
  duration window_grow_below = std::chrono::milliseconds(10);
  duration window_shrink_above = std::chrono::milliseconds(50);
};

}  // namespace muster::core
