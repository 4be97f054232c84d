// Copies of the core's state for readers (REST, dashboard, CLI). Plain data that may leave the
// engine thread. Filled by the coordinator's view functions; never read back by the core.
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
  std::uint64_t sent = 0;  // prefetched to a worker; included in `queued`

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
  bool open = false;      // not sealed yet
  bool stopping = false;  // cancelled or failed, while some of its closures still run
  core::on_error on_error{};
  closure_counts counts;
  std::uint64_t not_kept =
      0;  // closures that the client had released before a restart; not counted elsewhere
  std::uint32_t weight = 1;
  time_point deadline = never;
  std::uint64_t retried = 0;     // user errors that were retried
  std::uint64_t requeued = 0;    // times that a closure was taken back from a lost worker
  std::optional<failure> error;  // the first
  time_point created{};
  time_point finished{};  // epoch: unfinished
  std::string metadata;
  std::string submitted_by{};      // id of a token; empty: without authentication
  bool streaming = false;          // a gRPC session, not a REST job
  std::uint32_t generation = 0;    // of a stream: number of its errors and cancels, plus one
  bool resumable = false;          // of a stream: values are kept until they are released
  bool attached = false;           // of a resumable session: its client is connected
  bool detached = false;           // of a resumable session: finishes its work without its client
  time_point lease_until = never;  // of a resumable session without its client: kept until then
  std::uint64_t held = 0;          // of a resumable session: records that are kept
  std::uint64_t values = 0;        // number of kept values, wherever they are stored
  std::uint64_t value_bytes = 0;
  std::string client{};    // of a stream: address of its present or last client; empty: unknown
  session_id retry_of{};   // none: not a retry
  bool retryable = false;  // retry_job of it would find closures with their arguments
  bool durable = false;    // survives a server restart
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
  std::uint32_t index = 0;  // position in its job
  std::string function;
  std::string display_name;  // of what the function calls; empty: unknown
  std::string callable;      // its hash, as bytes; may be empty
  closure_state state{};
  value_state value{};
  std::string sent_to;  // queued and prefetched to this task: "worker:3"
  bool cancel_requested = false;
  bool exclusive = false;  // it has lost several workers, so its worker executes nothing else
  closure_options options;
  std::uint32_t retries = 0;  // user errors that were retried
  time_point start_at{};      // epoch: at once
  time_point deadline = never;
  std::shared_ptr<closure_extras const> extras;  // with inputs, whose gaps are in `args`
  std::vector<closure_id> inputs;    // closures whose outputs are arguments, by position
  std::uint32_t inputs_missing = 0;  // number of inputs that are not available yet
  static constexpr std::size_t dependents_max = 100;
  std::vector<closure_id> dependents;     // some closures that wait, or waited, for its value
  std::uint64_t dependents_more = 0;      // number of further ones
  std::vector<per_worker_id> per_worker;  // that the arguments refer to
  blob args;
  blob data;                      // if it succeeded, and neither `spilled` nor `released` is set
  std::uint64_t value_bytes = 0;  // of the blob that `data` refers to
  bool spilled = false;           // the value is on disk: wait for the value to read it
  std::string released;           // why the value was released; empty: it was not
  std::optional<failure> error;   // if failed or cancelled
  std::vector<attempt_view> attempts;
  time_point created{};
  time_point finished{};  // epoch: unfinished
  bool history = false;   // only a row of its session is left, without arguments and value
};

/// A closure that a worker holds.
struct held_place {
  session_id job{};
  std::uint32_t index = 0;  // position in its job
  bool stopping = false;    // it was asked to stop

  bool operator==(held_place const&) const = default;
};

struct task_view {
  std::uint32_t row = 0;  // unique in the server; stable for the lifetime of its process
  std::string cluster;
  std::string job;
  std::int64_t index = 0;
  task_state state{};
  time_point since{};  // when the state began
  time_point last_seen{};
  core::incarnation incarnation{};
  std::string host;
  std::string version;
  std::uint32_t pid = 0;
  std::uint32_t slots = 0;
  std::uint32_t credits = 0;
  std::uint32_t running = 0;  // closures that its slots execute
  std::uint32_t waiting = 0;  // closures that have begun there and wait for values; RUNNING as well
  std::uint32_t prefetched = 0;  // closures that it holds but has not started; they are queued
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::uint64_t restarts = 0;    // earlier incarnations
  std::uint64_t reconnects = 0;  // of the same incarnation, in time to continue
  bool draining = false;
  bool cordoned = false;   // gets no new closures until an operator uncordons it
  bool away = false;       // its connection broke; it may reconnect to its closures
  time_point starts_at{};  // start of its first closures; epoch: at once
  time_point lost_since = never;
  bool given_up = false;  // lost for longer than the recovery timeout
  std::vector<std::string> functions;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<std::string, std::uint32_t>> resources;  // total
  std::vector<std::pair<std::string, std::uint32_t>> free;       // available part, while connected
  std::string error;                                             // why it is not connected
};

/// A PerWorkerValue, with a component for each task that has the function, or had it when the task
/// was lost.
struct per_worker_view {
  struct component {
    std::string job;
    std::int64_t index = 0;
    value_state state{};
    std::optional<failure> error;
    time_point since{};
    /// Function of the closure that the worker executes before it builds this component; otherwise
    /// empty.
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
  bool released = false;    // removed when no closure uses it any longer
  std::uint64_t users = 0;  // unfinished closures that need it
  std::vector<component> components;
};

/// A component of a per-worker value whose builder has lost too many workers in a row.
struct failing_build_view {
  per_worker_id id{};
  std::string name;  // of the value; may be empty
  std::string function;
  std::string task;  // "worker:3"
  std::uint32_t workers_lost = 0;
  std::string error;
  time_point since{};
};

struct function_view {
  std::string name;
  std::uint32_t workers = 0;  // connected workers that provide it
  bool ever_had = false;      // some worker has provided it
  std::uint64_t waiting = 0;  // wait for a time or an input; not included in `queued`
  std::uint64_t queued = 0, running = 0, succeeded = 0, failed = 0, cancelled = 0;
};

/// Counts of closures by displayed name, which is the name of the callable or else of the function.
struct shown_function_view {
  std::string name;
  std::uint64_t waiting = 0, queued = 0, running = 0, succeeded = 0, failed = 0, cancelled = 0;
};

/// An unfinished closure that has lost several workers and must therefore run alone.
struct exclusive_closure {
  closure_id closure{};
  session_id job{};  // none: the core's own, which recomputes a lost value
  std::string function;
  std::uint32_t workers_lost = 0;
  std::string worker;  // that it runs on; empty: it waits
  time_point since{};  // time of the worker loss after which it must run alone
};

struct overview_view {
  std::uint32_t tasks_connected = 0, tasks_late = 0, tasks_error = 0, tasks_disconnected = 0;
  std::uint32_t tasks_cordoned = 0;
  closure_counts closures;  // since the server started; blocked, queued, running: now
  std::uint64_t requeued = 0;
  std::uint64_t retried = 0;
  // values_ready: since the server started
  std::uint64_t values_not_ready = 0, values_ready = 0, values_aborted = 0;
  std::uint64_t values_held = 0;
  // Bytes in memory, on disk, and of blobs that values refer to. A blob counts once for each value
  // that refers to it.
  std::uint64_t values_held_bytes = 0;
  std::uint64_t values_spilled = 0, values_spilled_bytes = 0;  // the part of them that is on disk
  std::uint64_t jobs_queued = 0, jobs_running = 0;
  std::uint64_t jobs_succeeded = 0, jobs_failed = 0, jobs_cancelled = 0;
  std::uint64_t sessions = 0;            // open gRPC sessions
  std::uint64_t session_rows_bytes = 0;  // of the rows of their ended closures
  std::uint64_t parked_calls = 0;
  // Watchdog: time since which nothing has finished; epoch: there is progress.
  time_point quiet_since{};
  std::vector<stalled_closure> oldest_running;  // at that time; at most five
  std::uint64_t closures_exclusive = 0;         // unfinished closures that must run alone
  static constexpr std::size_t exclusive_max = 20;
  std::vector<exclusive_closure> exclusive;                    // the oldest of them
  duration heartbeat_p50{}, heartbeat_p99{}, heartbeat_max{};  // age over connected tasks

  /// Adds another cluster's numbers. Heartbeat times become the larger of both.
  overview_view& operator+=(overview_view const& o);
};

template <class View, class Cursor>
struct page {
  std::vector<View> items;
  std::optional<Cursor> next;  // start of the next page
};

}  // namespace muster::core
