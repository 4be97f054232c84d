// Copies of the core's state for readers (REST, dashboard, CLI): plain data that may leave the
// engine thread. Filled by coordinator's view functions; never read back by the core.
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
  std::uint64_t sent = 0;  // prefetched to a worker; among the queued

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
  bool stopping = false;  // cancelled or failed, and something of it still runs
  core::on_error on_error{};
  closure_counts counts;
  std::uint64_t not_kept =
      0;  // closures before a restart that its client had released: not counted
  std::uint32_t weight = 1;
  time_point deadline = never;
  std::uint64_t retried = 0;     // user errors that were tried again
  std::uint64_t requeued = 0;    // times a closure of it was taken from a lost worker
  std::optional<failure> error;  // the first
  time_point created{};
  time_point finished{};  // epoch: not yet
  std::string metadata;
  std::string submitted_by{};      // id of a token; empty: nobody was asked
  bool streaming = false;          // a gRPC session, not a REST job
  std::uint32_t generation = 0;    // of a stream: counts its errors and cancels, from 1
  bool resumable = false;          // of a stream: values stay until they are released
  bool attached = false;           // of a resumable one: its client is there
  bool detached = false;           // of a resumable one: finishes its work without its client
  time_point lease_until = never;  // of a resumable one without its client: kept until then
  std::uint64_t held = 0;          // of a resumable one: records that stay
  std::uint64_t values = 0;        // that are kept, and their bytes, wherever they are
  std::uint64_t value_bytes = 0;
  std::string client{};    // of a stream: who has it, or had it last; empty: not known
  session_id retry_of{};   // none: it is not a retry
  bool retryable = false;  // a retry_job of it would find something to do, with its arguments
  bool durable = false;    // it outlives the server
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
  std::string display_name;  // of what the function calls; empty: not known
  std::string callable;      // its hash, in bytes; or empty
  closure_state state{};
  value_state value{};
  std::string sent_to;  // queued, and prefetched to this task: "worker:3"
  bool cancel_requested = false;
  bool exclusive = false;  // it has lost worker after worker: the one it runs on does nothing else
  closure_options options;
  std::uint32_t retries = 0;  // user errors that were tried again
  time_point start_at{};      // epoch: at once
  time_point deadline = never;
  std::shared_ptr<closure_extras const> extras;  // with inputs: the gaps in `args`
  std::vector<closure_id> inputs;                // whose outputs are arguments, by position
  std::uint32_t inputs_missing = 0;              // of those, not there yet
  static constexpr std::size_t dependents_max = 100;
  std::vector<closure_id> dependents;     // some that wait, or waited, for its value
  std::uint64_t dependents_more = 0;      // and how many others
  std::vector<per_worker_id> per_worker;  // that the arguments name
  blob args;
  blob data;                      // when succeeded, unless…
  std::uint64_t value_bytes = 0;  // of the blob, where `data` names one
  bool spilled = false;           // …it is on the disk: wait for the value to have it
  std::string released;           // …it was released: why
  std::optional<failure> error;   // when failed or cancelled
  std::vector<attempt_view> attempts;
  time_point created{};
  time_point finished{};  // epoch: not yet
  bool history = false;   // only a row of its session is left: no arguments, no value
};

/// A closure in a worker's hands.
struct held_place {
  session_id job{};
  std::uint32_t index = 0;  // position in its job
  bool stopping = false;    // it is asked to stop

  bool operator==(held_place const&) const = default;
};

struct task_view {
  std::uint32_t row = 0;  // of the whole server; stable for the life of its process
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
  std::uint32_t running = 0;     // its slots work on them
  std::uint32_t waiting = 0;     // they have begun there and wait for values; RUNNING as well
  std::uint32_t prefetched = 0;  // it holds them as well; they are queued
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::uint64_t restarts = 0;    // incarnations seen before this one
  std::uint64_t reconnects = 0;  // of the same incarnation, in time to go on
  bool draining = false;
  bool cordoned = false;   // gets nothing new until an operator says so
  bool away = false;       // its connection broke; it may come back to what it runs
  time_point starts_at{};  // gets closures from then on; epoch: at once
  time_point lost_since = never;
  bool given_up = false;  // lost for longer than the recovery timeout
  std::vector<std::string> functions;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<std::string, std::uint32_t>> resources;  // in all
  std::vector<std::pair<std::string, std::uint32_t>> free;       // of them, while connected
  std::string error;                                             // why it is not connected
};

/// A PerWorkerValue, with a component for each task that has the function or had it when lost.
struct per_worker_view {
  struct component {
    std::string job;
    std::int64_t index = 0;
    value_state state{};
    std::optional<failure> error;
    time_point since{};
    /// Function of the closure that the worker executes before it builds this; else empty.
    std::string queued_behind{};
  };
  per_worker_id id{};
  std::string cluster;
  std::string name;
  std::string function;
  blob args;
  session_id owner{};
  std::string submitted_by{};  // id of a token, where no session owns it
  time_point created{};
  bool released = false;    // goes when nobody uses it any more
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
  std::uint32_t workers = 0;  // connected ones that have it
  bool ever_had = false;      // by some worker
  std::uint64_t waiting = 0;  // for a time or an input; not among the queued
  std::uint64_t queued = 0, running = 0, succeeded = 0, failed = 0, cancelled = 0;
};

/// Closures by the name that is shown of them: that of what a function calls, or of the function.
struct shown_function_view {
  std::string name;
  std::uint64_t waiting = 0, queued = 0, running = 0, succeeded = 0, failed = 0, cancelled = 0;
};

/// One that has lost worker after worker, and has not ended.
struct exclusive_closure {
  closure_id closure{};
  session_id job{};  // none: the server's own, which makes a lost value again
  std::string function;
  std::uint32_t workers_lost = 0;
  std::string worker;  // that it runs on; empty: it waits
  time_point since{};  // when it lost the one that made it run alone
};

struct overview_view {
  std::uint32_t tasks_connected = 0, tasks_late = 0, tasks_error = 0, tasks_disconnected = 0;
  std::uint32_t tasks_cordoned = 0;
  closure_counts closures;  // since the server started; blocked, queued, running: now
  std::uint64_t requeued = 0;
  std::uint64_t retried = 0;
  std::uint64_t values_not_ready = 0, values_ready = 0, values_aborted = 0;  // ready: since start
  std::uint64_t values_held = 0;
  // In memory, on the disk, and of the blobs that values name, each blob once for each value.
  std::uint64_t values_held_bytes = 0;
  std::uint64_t values_spilled = 0, values_spilled_bytes = 0;  // of them, on the disk
  std::uint64_t jobs_queued = 0, jobs_running = 0;
  std::uint64_t jobs_succeeded = 0, jobs_failed = 0, jobs_cancelled = 0;
  std::uint64_t sessions = 0;            // gRPC sessions open now
  std::uint64_t session_rows_bytes = 0;  // of what is remembered of their ended closures
  std::uint64_t parked_calls = 0;
  time_point quiet_since{};  // the watchdog: nothing has finished since then; epoch: all is well
  std::vector<stalled_closure> oldest_running;  // then; at most five
  std::uint64_t closures_exclusive = 0;  // that have lost worker after worker, and have not ended
  static constexpr std::size_t exclusive_max = 20;
  std::vector<exclusive_closure> exclusive;                    // of them the oldest
  duration heartbeat_p50{}, heartbeat_p99{}, heartbeat_max{};  // age over connected tasks

  /// With another's of the same server; of heartbeats the worse ones.
  overview_view& operator+=(overview_view const& o);
};

template <class View, class Cursor>
struct page {
  std::vector<View> items;
  std::optional<Cursor> next;  // where the next page begins
};

}  // namespace muster::core
