// Programs, which run as ranks on workers: specification, state, and events. Plain data. See
// api/ranks.hpp for offers, orders and reports of workers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_names.hpp"
#include "base/status.hpp"
#include "server/core/api/hangs.hpp"
#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

using muster::name;

std::string text(program_id id);

//   PENDING ──placed──► STARTING ──all have started──► RUNNING ──► STOPPING ──► SUCCEEDED
//                          │   ▲                          │            │        FAILED
//                          ▼   └────── RESTARTING ◄───────┤            └──────► CANCELLED
//                      RESTARTING                         └──────► STOPPING
enum class program_state : std::uint8_t {
  pending = 0,
  starting = 1,
  running = 2,
  restarting = 3,  ///< an attempt has ended or is being stopped, and another follows
  stopping = 4,
  succeeded = 5,
  failed = 6,
  cancelled = 7,
};
constexpr auto enum_names(program_state) {
  using enum program_state;
  return enumerators<program_state>(pending, "PENDING", starting, "STARTING", running, "RUNNING",
                                    restarting, "RESTARTING", stopping, "STOPPING", succeeded,
                                    "SUCCEEDED", failed, "FAILED", cancelled, "CANCELLED");
}
constexpr bool ended(program_state s) {
  return s >= program_state::succeeded;
}

/// How an attempt has ended.
enum class program_end : std::uint8_t {
  none = 0,  ///< not ended
  succeeded = 1,
  failed = 2,     ///< a rank failed
  lost = 3,       ///< a worker was lost, or left
  cancelled = 4,  ///< stopped or restarted on request
  preempted = 5,  ///< a worker was about to leave, and the ranks ended by themselves after a step
  hung = 6,       ///< hung: no progress
};
constexpr auto enum_names(program_end) {
  using enum program_end;
  return enumerators<program_end>(none, "NONE", succeeded, "SUCCEEDED", failed, "FAILED", lost,
                                  "LOST", cancelled, "CANCELLED", preempted, "PREEMPTED", hung,
                                  "HUNG");
}
enum class cause_kind : std::uint8_t {
  exit_status = 0,    ///< a rank ended with a status other than 0
  signal = 1,         ///< a rank was killed
  out_of_memory = 2,  ///< a rank was killed by the kernel for lack of memory
  not_started = 3,    ///< a rank could not be started
  worker_lost = 4,    ///< its worker was disconnected for longer than its lease
  worker_left = 5,    ///< its worker stopped it in order to leave
  deadline = 6,
  request = 7,       ///< cancelled, stopped or restarted on request
  coordination = 8,  ///< its coordination service reported a failed task before other ranks ended
  hang = 9,          ///< no progress
};
constexpr auto enum_names(cause_kind) {
  using enum cause_kind;
  return enumerators<cause_kind>(exit_status, "EXIT_STATUS", signal, "SIGNAL", out_of_memory,
                                 "OUT_OF_MEMORY", not_started, "NOT_STARTED", worker_lost,
                                 "WORKER_LOST", worker_left, "WORKER_LEFT", deadline, "DEADLINE",
                                 request, "REQUEST", coordination, "COORDINATION", hang, "HANG");
}

/// A failure that the program's coordination service reported.
struct coordination_failure {
  muster::code code = muster::code::unknown;
  std::string task{};  // that failed, "worker:3"; empty: no particular task
  std::string message{};

  bool operator==(coordination_failure const&) const = default;
};

/// Why an attempt, or the program, ended: the first thing that went wrong.
struct program_cause {
  cause_kind kind{};
  std::int64_t rank = -1;  // -1: none
  std::string task{};      // "worker:3"
  std::string host{};
  std::uint32_t exit_status = 0;
  std::uint32_t signal = 0;
  std::string text{};  // for people, one line
  std::vector<std::string> stderr_lines{};
  std::optional<coordination_failure> coordination{};  // reported earlier in the attempt
  std::optional<core::hang> hang{};

  bool operator==(program_cause const&) const = default;
};

using named_amounts = std::vector<std::pair<std::string, std::uint32_t>>;
using named_texts = std::vector<std::pair<std::string, std::string>>;

/// Tasks of one type.
struct program_tasks {
  std::string type = "worker";
  std::uint32_t min = 1, max = 1;      // number of tasks
  std::vector<std::string> command{};  // empty: the program's command
  named_amounts resources{};           // of each task
  named_texts labels{};                // required of the workers that run them

  bool operator==(program_tasks const&) const = default;
};

/// Where the program's TCPStore of torch.distributed runs.
enum class store_place : std::uint8_t { rank0 = 0, server = 1 };
constexpr auto enum_names(store_place) {
  using enum store_place;
  return enumerators<store_place>(rank0, "rank0", server, "server");
}

struct program_spec {
  std::string name{};
  std::vector<std::string> command{};
  std::vector<program_tasks> tasks{};
  std::uint32_t per_worker = 0;  // most ranks on one worker; 0: as many as fit
  named_texts env{};
  std::string working_dir{};
  // SHA-256 of a blob with the contents of working directories, 64 hexadecimal digits
  std::string upload{};
  std::vector<std::string> preload{};  // Python modules that are imported before ranks are forked
  std::uint32_t max_restarts = 0;
  duration grace = std::chrono::seconds(10);
  duration restart_grace = std::chrono::seconds(1);
  duration deadline{};  // time from submission until it fails if it has not ended; 0: none
  // Time before the deadline at which ranks are asked to end; they are killed at the deadline.
  duration notice{};
  std::uint32_t spares = 0;  // additional places reserved for its tasks while it runs
  std::int32_t priority = 0;
  std::uint32_t weight = 1;              // larger: a larger share for its submitter; not 0
  std::vector<std::string> ends_with{};  // task types, or "worker:0"; empty: all except ps
  store_place store = store_place::rank0;
  hang_policy on_hang = hang_policy::tell;
  duration hang_after = std::chrono::seconds(60);  // time without progress
  /// RE2 pattern whose first group is the step in a line that a rank prints; empty: ranks report
  /// steps themselves.
  std::string step_pattern{};
  std::string idempotency_key{};  // a second submission with the same key returns the first program
  std::string request_digest{};   // of the request that carries the key; empty: not compared
  std::string metadata{};         // JSON object as text, returned unchanged
  std::string submitted_by{};     // id of a token; empty: without authentication

  bool operator==(program_spec const&) const = default;
};

/// Returns the largest number of ranks that a program can have.
inline std::uint64_t most_ranks(program_spec const& spec) {
  std::uint64_t n = 0;
  for (auto const& t : spec.tasks) n += t.max;
  return n;
}

/// Limits of programs. Each states what happens at the limit.
struct program_limits {
  // Known at one time; if none of them has ended, a new one is refused.
  std::size_t programs_max = 10'000;
  std::size_t finished_max = 1'000;  // kept after their end; at the limit, the oldest is forgotten
  std::uint32_t ranks_max = 4'096;   // of one program; above it, refused
  std::uint32_t spares_max = 64;     // of one program; above it, refused
  std::uint32_t worker_ranks_max = 1'024;  // on one worker; no more are placed there
  std::size_t types_max = 32;
  // Resources, labels of a type, ends_with; above it, refused, as all below.
  std::size_t names_max = 64;
  // Bytes of one command, including the terminators of its arguments.
  std::size_t command_bytes_max = 128u << 10;
  std::size_t orders_bytes_max = 4u << 20;  // commands of all ranks that one worker may get
  std::size_t env_bytes_max = 128u << 10;
  std::size_t metadata_bytes_max = 64u << 10;
  duration hang_after_min = std::chrono::seconds(1);  // a shorter hang_after is refused
  std::size_t attempts_kept = 32;  // of one program; at the limit, the oldest is forgotten
  duration port_rest = std::chrono::seconds(60);  // a port is not reused for this long
};

/// Events about programs begin here.
struct submit_program {
  call_id call{};
  program_spec spec;
};

enum class program_wish : std::uint8_t {
  cancel,   ///< ends CANCELLED
  stop,     ///< ends SUCCEEDED if all ranks exit successfully when asked to; otherwise CANCELLED
  restart,  ///< starts another attempt that does not count as a restart
  forget,   ///< removes an ended program
  stop_at,  ///< stores `at`, the step that the present ranks have agreed on, for later attempts
};

/// The step after which all ranks of an attempt end.
struct agreed_stop {
  std::uint32_t attempt = 0;
  std::uint64_t step = 0;

  bool operator==(agreed_stop const&) const = default;
};

struct change_program {
  call_id call{};
  program_id program{};
  program_wish wish{};
  agreed_stop at{};  // for stop_at
};

/// The blobs on the server that programs of this core refer to in `upload`.
struct uploads_seen {
  std::vector<std::string> there{};
};

/// The coordination service of the attempt has reported a failure.
struct coordination_failed {
  program_id program{};
  std::uint32_t attempt = 0;
  coordination_failure what{};
};

/// Reports whether the attempt's ranks report steps and can stop at one.
struct program_steps_said {
  enum class kind : std::uint8_t {
    some,       ///< ranks report steps, so they can be asked to end after one
    preempted,  ///< all are about to end after a step, because one of their workers leaves
    none,       ///< they could not agree on a step to end after, so they are stopped by a signal
  };
  program_id program{};
  std::uint32_t attempt = 0;
  kind what{};
  std::string text{};  // preempted: why, for people
};

struct program_reply {
  program_id program{};
  bool created = true;  // false: found by its idempotency key

  bool operator==(program_reply const&) const = default;
};

/// The state of a program, for readers. `gone`: it was forgotten.
struct program_changed {
  program_id program{};
  program_state state{};
  std::uint32_t attempt = 0;
  bool gone = false;
  program_end end{};  // how the attempt has just ended; none: it has not

  bool operator==(program_changed const&) const = default;
};

}  // namespace muster::core
