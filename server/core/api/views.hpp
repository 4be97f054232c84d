// Copies of the core's state for readers (REST, dashboard, CLI). Plain data that may leave the
// engine thread; never read back by the core.
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
  std::uint64_t sent = 0;  // prefetched; included in `queued`

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
  bool open = false;      // not sealed
  bool stopping = false;  // cancelled or failed, and not all of it has ended
  core::on_error on_error{};
  closure_counts counts;
  std::uint64_t not_kept = 0;  // released by the client before a restart; not counted elsewhere
  std::uint32_t weight = 1;
  time_point deadline = never;
  std::uint64_t retried = 0;     // user errors
  std::uint64_t requeued = 0;    // closures taken back from lost workers
  std::optional<failure> error;  // the first one
  time_point created{};
  time_point finished{};  // epoch: unfinished
  std::string metadata;
  std::string submitted_by{};      // id of a token; empty: no authentication
  bool streaming = false;          // a gRPC session, not a REST job
  std::uint32_t generation = 0;    // of a stream: errors and cancels so far, plus one
  bool resumable = false;          // of a stream: values are kept until released
  bool attached = false;           // resumable: its client is connected
  bool detached = false;           // resumable: finishes without its client
  time_point lease_until = never;  // resumable, without its client
  std::uint64_t held = 0;          // resumable: records that are kept
  std::uint64_t values = 0;        // kept ones, wherever they are stored
  std::uint64_t value_bytes = 0;
  std::string client{};  // of a stream: address of its last client; empty: unknown
  session_id retry_of{};
  bool retryable = false;  // retry_job would find closures to repeat
  bool durable = false;    // survives a restart
};

struct attempt_view {
  std::uint32_t attempt = 0;
  std::string worker;  // "worker:3"
  core::incarnation incarnation{};
  std::string host;
  time_point started{};
  time_point ended{};  // epoch: still running
  attempt_outcome outcome;
  blame blamed = blame::none;

  bool operator==(attempt_view const&) const = default;
};

struct closure_view {
  closure_id id{};
  session_id job{};
  std::uint32_t index = 0;
  std::string function;
  std::string display_name;  // of the callable; empty: unknown
  std::string callable;      // hash of the callable, as bytes; may be empty
  closure_state state{};
  value_state value{};
  std::string sent_to;  // the task that it is prefetched to
  bool cancel_requested = false;
  bool exclusive = false;  // lost several workers; its worker executes nothing else
  closure_options options;
  std::uint32_t retries = 0;  // user errors
  time_point start_at{};      // epoch: at once
  time_point deadline = never;
  std::shared_ptr<closure_extras const> extras;  // with inputs, `args` has gaps
  std::vector<closure_id> inputs;                // by position
  std::uint32_t inputs_missing = 0;
  static constexpr std::size_t dependents_max = 100;
  std::vector<closure_id> dependents;  // closures that wait, or waited, for its value
  std::uint64_t dependents_more = 0;   // further ones
  std::vector<per_worker_id> per_worker;
  blob args;
  blob data;                      // unless `spilled` or `released`
  std::uint64_t value_bytes = 0;  // of the blob that `data` refers to
  bool spilled = false;           // the value is on disk; await_value reads it
  std::string released;           // why the value was released; or empty
  std::optional<failure> error;   // if failed or cancelled
  std::vector<attempt_view> attempts;
  time_point created{};
  time_point finished{};  // epoch: unfinished
  bool history = false;   // only a row is left, without arguments and value
};

/// A closure that a worker holds.
struct held_place {
  session_id job{};
  std::uint32_t index = 0;
  bool stopping = false;  // it was asked to stop

  bool operator==(held_place const&) const = default;
};

struct task_view {
  std::uint32_t row = 0;  // unique in the server until it exits
  std::string cluster;
  std::string job;
  std::int64_t index = 0;
  task_state state{};
  time_point since{};  // of the state
  time_point last_seen{};
  core::incarnation incarnation{};
  std::string host;
  std::string version;
  std::uint32_t pid = 0;
  std::uint32_t slots = 0;
  std::uint32_t credits = 0;
  std::uint32_t running = 0;     // executed by its slots
  std::uint32_t waiting = 0;     // RUNNING, but waiting for values
  std::uint32_t prefetched = 0;  // held, but queued
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::uint64_t restarts = 0;    // earlier incarnations
  std::uint64_t reconnects = 0;  // of this incarnation
  bool draining = false;
  bool cordoned = false;   // no new closures until uncordoned
  bool away = false;       // disconnected, and may reconnect to its closures
  time_point starts_at{};  // of its first closures; epoch: at once
  time_point lost_since = never;
  bool given_up = false;  // lost longer than recovery_timeout
  std::vector<std::string> functions;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<std::string, std::uint32_t>> resources;
  std::vector<std::pair<std::string, std::uint32_t>> free;  // while connected
  std::string error;                                        // why it is not connected
};

/// A PerWorkerValue with its components, one for each task that provides the function, or did when
/// it was lost.
struct per_worker_view {
  struct component {
    std::string job;
    std::int64_t index = 0;
    value_state state{};
    std::optional<failure> error;
    time_point since{};
    /// Function of the closure that the worker executes first; or empty.
    std::string queued_behind{};
  };
  per_worker_id id{};
  std::string cluster;
  std::string name;
  std::string function;
  blob args;
  session_id owner{};
  std::string submitted_by{};  // id of a token, if no session owns it
  time_point created{};
  bool released = false;    // removed when unused
  std::uint64_t users = 0;  // unfinished closures
  std::vector<component> components;
};

/// A component of a per-worker value whose builder has lost too many workers in a row.
struct failing_build_view {
  per_worker_id id{};
  std::string name;  // may be empty
  std::string function;
  std::string task;
  std::uint32_t workers_lost = 0;
  std::string error;
  time_point since{};
};

struct function_view {
  std::string name;
  std::uint32_t workers = 0;  // connected ones
  bool ever_had = false;      // some worker has provided it
  std::uint64_t waiting = 0;  // wait for a time or an input; not included in `queued`
  std::uint64_t queued = 0, running = 0, succeeded = 0, failed = 0, cancelled = 0;
};

/// Counts of closures by displayed name: that of the callable, or else of the function.
struct shown_function_view {
  std::string name;
  std::uint64_t waiting = 0, queued = 0, running = 0, succeeded = 0, failed = 0, cancelled = 0;
};

/// An unfinished closure that must run alone, because it has lost several workers.
struct exclusive_closure {
  closure_id closure{};
  session_id job{};  // none: recomputes a lost value
  std::string function;
  std::uint32_t workers_lost = 0;
  std::string worker;  // empty: it waits
  time_point since{};  // when it lost the last of them
};

struct overview_view {
  std::uint32_t tasks_connected = 0, tasks_late = 0, tasks_error = 0, tasks_disconnected = 0;
  std::uint32_t tasks_cordoned = 0;
  closure_counts closures;  // since the server started; blocked, queued, running: now
  std::uint64_t requeued = 0;
  std::uint64_t retried = 0;
  // values_ready: since the server started.
  std::uint64_t values_not_ready = 0, values_ready = 0, values_aborted = 0;
  std::uint64_t values_held = 0;
  // In memory, on disk, and in blobs. A blob counts once for each value that refers to it.
  std::uint64_t values_held_bytes = 0;
  std::uint64_t values_spilled = 0, values_spilled_bytes = 0;  // of them, on disk
  std::uint64_t jobs_queued = 0, jobs_running = 0;
  std::uint64_t jobs_succeeded = 0, jobs_failed = 0, jobs_cancelled = 0;
  std::uint64_t sessions = 0;            // open gRPC sessions
  std::uint64_t session_rows_bytes = 0;  // rows of their ended closures
  std::uint64_t parked_calls = 0;
  // Watchdog: when progress stopped. Epoch: there is progress.
  time_point quiet_since{};
  std::vector<stalled_closure> oldest_running;  // at that time; at most five
  std::uint64_t closures_exclusive = 0;         // unfinished ones that must run alone
  static constexpr std::size_t exclusive_max = 20;
  std::vector<exclusive_closure> exclusive;                    // the oldest of them
  duration heartbeat_p50{}, heartbeat_p99{}, heartbeat_max{};  // ages, over connected tasks

  /// Adds another cluster's numbers. For heartbeats, keeps the larger times.
  overview_view& operator+=(overview_view const& o);
};

template <class View, class Cursor>
struct page {
  std::vector<View> items;
  std::optional<Cursor> next;
};

}  // namespace muster::core
