// Copies of the core's state for readers. The copies may be passed to other threads. In all views,
// an epoch time means "not yet", unless stated otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/core/api/attempt_outcome.hpp"
#include "server/core/api/incidents.hpp"
#include "server/core/api/model.hpp"

namespace muster::core {

struct closure_counts {
  std::uint64_t blocked = 0, queued = 0, running = 0, succeeded = 0, failed = 0, cancelled = 0;
  std::uint64_t sent = 0;  // prefetched closures; included in `queued`

  std::uint64_t total() const {
    return blocked + queued + running + succeeded + failed + cancelled;
  }
  bool operator==(closure_counts const&) const = default;
};

struct job_view {
  session_id id{};
  std::string cluster;
  std::string name;
  job_state state{};
  bool open = false;
  bool stopping = false;  // whether the job is cancelled or failed, but unfinished
  core::on_error on_error{};
  closure_counts counts;
  std::uint64_t not_kept = 0;  // released by the client before a restart; not counted elsewhere
  std::uint32_t weight = 1;
  time_point deadline = never;
  std::uint64_t retried = 0;   // retries after errors that functions raised
  std::uint64_t requeued = 0;  // closures taken back from lost workers
  std::optional<failure> error;
  time_point created{};
  time_point finished{};
  std::string metadata;
  std::string submitted_by{};
  bool streaming = false;        // whether this is a gRPC session rather than a REST job
  std::uint32_t generation = 0;  // number of errors and cancellations of the stream, plus one
  bool resumable = false;        // values of a stream are kept until released
  bool attached = false;
  bool detached = false;
  time_point lease_until = never;  // end of the grace period while the client is disconnected
  std::uint64_t held = 0;          // number of kept records
  std::uint64_t values = 0;        // number of kept values in memory, on disk and in blobs
  std::uint64_t value_bytes = 0;
  std::string client{};
  session_id retry_of{};
  bool retryable = false;  // retry_job can repeat closures of this job
  bool durable = false;
};

struct attempt_view {
  std::uint32_t attempt = 0;
  std::string worker;
  core::incarnation incarnation{};
  std::string host;
  time_point started{};
  time_point ended{};
  attempt_outcome outcome;
  blame blamed = blame::none;

  bool operator==(attempt_view const&) const = default;
};

struct closure_view {
  closure_id id{};
  session_id job{};
  std::uint32_t index = 0;
  std::string function;
  std::string display_name;
  std::string callable;
  closure_state state{};
  value_state value{};
  std::string sent_to;
  bool cancel_requested = false;
  bool exclusive = false;
  closure_options options;
  std::uint32_t retries = 0;
  time_point start_at{};  // the epoch means immediately
  time_point deadline = never;
  std::shared_ptr<closure_extras const> extras;  // if the closure has inputs, `args` has gaps
  std::vector<closure_id> inputs;                // ordered by their gaps
  std::uint32_t inputs_missing = 0;
  static constexpr std::size_t dependents_max = 100;
  std::vector<closure_id> dependents;  // closures that wait or waited for this closure's value
  std::uint64_t dependents_more = 0;
  std::vector<per_worker_id> per_worker;
  blob args;
  blob data;                      // empty if `spilled` or `released`
  std::uint64_t value_bytes = 0;  // size of the blob that `data` refers to
  bool spilled = false;           // the value is on disk; await_value reads it
  std::string released;           // why the value was released; may be empty
  std::optional<failure> error;
  std::vector<attempt_view> attempts;
  time_point created{};
  time_point finished{};
  bool history = false;  // whether only the row is left, without arguments and value
};

struct held_place {
  session_id job{};
  std::uint32_t index = 0;
  bool stopping = false;

  bool operator==(held_place const&) const = default;
};

struct task_view {
  std::uint32_t row = 0;  // unique until the server process exits
  std::string cluster;
  std::string job;
  std::int64_t index = 0;
  task_state state{};
  time_point since{};
  time_point last_seen{};
  core::incarnation incarnation{};
  std::string host;
  std::string version;
  std::uint32_t pid = 0;
  std::uint32_t slots = 0;
  std::uint32_t credits = 0;
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;     // closures that are RUNNING but wait for values
  std::uint32_t prefetched = 0;  // closures that were sent to the worker but are still QUEUED
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::uint64_t restarts = 0;
  std::uint64_t reconnects = 0;
  bool draining = false;
  bool cordoned = false;
  bool away = false;       // whether the worker is disconnected but can continue its closures
  time_point starts_at{};  // start time of its first closures; the epoch means immediately
  time_point lost_since = never;
  bool given_up = false;
  std::vector<std::string> functions;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<std::string, std::uint32_t>> resources;
  std::vector<std::pair<std::string, std::uint32_t>> free;
  std::string error;  // why the task is not connected
};

/// A per-worker value, with one component for each task that provides the function or provided it
/// when the task was lost.
struct per_worker_view {
  struct component {
    std::string job;
    std::int64_t index = 0;
    value_state state{};
    std::optional<failure> error;
    time_point since{};
    /// Function of the closure that the worker executes before the build; may be empty.
    std::string queued_behind{};
  };
  per_worker_id id{};
  std::string cluster;
  std::string name;
  std::string function;
  blob args;
  session_id owner{};
  std::string submitted_by{};
  time_point created{};
  bool released = false;
  std::uint64_t users = 0;
  std::vector<component> components;
};

/// The builder of this component lost too many workers in a row.
struct failing_build_view {
  per_worker_id id{};
  std::string name;
  std::string function;
  std::string task;
  std::uint32_t workers_lost = 0;
  std::string error;
  time_point since{};
};

struct function_view {
  std::string name;
  std::uint32_t workers = 0;
  bool ever_had = false;
  std::uint64_t waiting = 0;  // closures that wait for a time or an input; not included in `queued`
  std::uint64_t queued = 0, running = 0, succeeded = 0, failed = 0, cancelled = 0;
};

/// Closure counts by displayed name: the callable's name, or else the function's name.
struct shown_function_view {
  std::string name;
  std::uint64_t waiting = 0, queued = 0, running = 0, succeeded = 0, failed = 0, cancelled = 0;
};

/// A closure that must run alone, because it has lost several workers.
struct exclusive_closure {
  closure_id closure{};
  session_id job{};  // not set if the closure recomputes a lost value
  std::string function;
  std::uint32_t workers_lost = 0;
  std::string worker;
  time_point since{};  // time of the last loss
};

struct overview_view {
  std::uint32_t tasks_connected = 0, tasks_late = 0, tasks_error = 0, tasks_disconnected = 0;
  std::uint32_t tasks_cordoned = 0;
  closure_counts closures;  // totals since the server started, except unfinished closures
  std::uint64_t requeued = 0;
  std::uint64_t retried = 0;
  // `values_ready` is the total since the server started.
  std::uint64_t values_not_ready = 0, values_ready = 0, values_aborted = 0;
  std::uint64_t values_held = 0;
  // Bytes in memory, on disk and in blobs. A blob counts once for each value that refers to it.
  std::uint64_t values_held_bytes = 0;
  std::uint64_t values_spilled = 0, values_spilled_bytes = 0;
  std::uint64_t jobs_queued = 0, jobs_running = 0;
  std::uint64_t jobs_succeeded = 0, jobs_failed = 0, jobs_cancelled = 0;
  std::uint64_t sessions = 0;
  std::uint64_t session_rows_bytes = 0;  // size of gRPC session rows
  std::uint64_t parked_calls = 0;
  // Time at which progress stopped, for the watchdog.
  time_point quiet_since{};
  // Running closures when progress stopped; at most five.
  std::vector<stalled_closure> oldest_running;
  std::uint64_t closures_exclusive = 0;
  static constexpr std::size_t exclusive_max = 20;
  std::vector<exclusive_closure> exclusive;                    // oldest first
  duration heartbeat_p50{}, heartbeat_p99{}, heartbeat_max{};  // heartbeat ages of connected tasks

  /// Adds the numbers of another cluster. Heartbeat ages are the maximum of both.
  overview_view& operator+=(overview_view const& o);
};

template <class View, class Cursor>
struct page {
  std::vector<View> items;
  std::optional<Cursor> next;
};

}  // namespace muster::core
