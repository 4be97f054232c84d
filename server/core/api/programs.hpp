// Programs, which run as ranks on workers: specification, state and events.
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

// States of a program:
//
//   PENDING ──placed──► STARTING ──all have started──► RUNNING ──► STOPPING ──► SUCCEEDED
//                          │   ▲                          │            │        FAILED
//                          ▼   └────── RESTARTING ◄───────┤            └──────► CANCELLED
//                      RESTARTING                         └──────► STOPPING
enum class program_state : std::uint8_t {
  pending = 0,
  starting = 1,
  running = 2,
  restarting = 3,  ///< an attempt has ended or is being stopped, and another will follow
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

enum class program_end : std::uint8_t {
  none = 0,
  succeeded = 1,
  failed = 2,
  lost = 3,
  cancelled = 4,  ///< stopped or restarted on request
  preempted = 5,  ///< the ranks ended after a step, because a worker was about to leave
  hung = 6,
};
constexpr auto enum_names(program_end) {
  using enum program_end;
  return enumerators<program_end>(none, "NONE", succeeded, "SUCCEEDED", failed, "FAILED", lost,
                                  "LOST", cancelled, "CANCELLED", preempted, "PREEMPTED", hung,
                                  "HUNG");
}
enum class cause_kind : std::uint8_t {
  exit_status = 0,
  signal = 1,
  out_of_memory = 2,  ///< the kernel killed a rank
  not_started = 3,
  worker_lost = 4,  ///< a worker was disconnected for longer than its lease
  worker_left = 5,
  deadline = 6,
  request = 7,
  coordination = 8,  ///< the coordination service reported a failed task first
  hang = 9,
};
constexpr auto enum_names(cause_kind) {
  using enum cause_kind;
  return enumerators<cause_kind>(exit_status, "EXIT_STATUS", signal, "SIGNAL", out_of_memory,
                                 "OUT_OF_MEMORY", not_started, "NOT_STARTED", worker_lost,
                                 "WORKER_LOST", worker_left, "WORKER_LEFT", deadline, "DEADLINE",
                                 request, "REQUEST", coordination, "COORDINATION", hang, "HANG");
}

struct coordination_failure {
  muster::code code = muster::code::unknown;
  std::string task{};
  std::string message{};

  bool operator==(coordination_failure const&) const = default;
};

/// The first problem that occurred in the attempt or program.
struct program_cause {
  cause_kind kind{};
  std::int64_t rank = -1;
  std::string task{};
  std::string host{};
  std::uint32_t exit_status = 0;
  std::uint32_t signal = 0;
  std::string text{};  // one-line text for display
  std::vector<std::string> stderr_lines{};
  std::optional<coordination_failure> coordination{};  // failure reported earlier
  std::optional<core::hang> hang{};

  bool operator==(program_cause const&) const = default;
};

using named_amounts = std::vector<std::pair<std::string, std::uint32_t>>;
using named_texts = std::vector<std::pair<std::string, std::string>>;

struct program_tasks {
  std::string type = "worker";
  std::uint32_t min = 1, max = 1;
  std::vector<std::string> command{};  // if empty, the program's command is used
  named_amounts resources{};
  named_texts labels{};

  bool operator==(program_tasks const&) const = default;
};

enum class store_place : std::uint8_t { rank0 = 0, server = 1 };
constexpr auto enum_names(store_place) {
  using enum store_place;
  return enumerators<store_place>(rank0, "rank0", server, "server");
}

struct program_spec {
  std::string name{};
  std::vector<std::string> command{};
  std::vector<program_tasks> tasks{};
  std::uint32_t per_worker = 0;  // maximum ranks per worker; 0 means as many as fit
  named_texts env{};
  std::string working_dir{};
  // SHA-256, in hexadecimal, of the blob from which working directories are created.
  std::string upload{};
  std::vector<std::string> preload{};  // Python modules imported before ranks are forked
  std::uint32_t max_restarts = 0;
  duration grace = std::chrono::seconds(10);
  duration restart_grace = std::chrono::seconds(1);
  duration deadline{};  // time from submission to failure; 0 if there is no deadline
  // Time before the deadline at which ranks are asked to end.
  duration notice{};
  std::uint32_t spares = 0;
  std::int32_t priority = 0;
  std::uint32_t weight = 1;  // relative share of the workers for its submitter; at least 1
  // The program ends with these types, or tasks such as "worker:0". If empty, with all types except
  // ps.
  std::vector<std::string> ends_with{};
  store_place store = store_place::rank0;
  hang_policy on_hang = hang_policy::tell;
  duration hang_after = std::chrono::seconds(60);
  /// RE2 pattern whose first group is the step in an output line. If empty, ranks report steps
  /// themselves.
  std::string step_pattern{};
  std::string idempotency_key{};
  std::string request_digest{};
  std::string metadata{};
  std::string submitted_by{};

  bool operator==(program_spec const&) const = default;
};

inline std::uint64_t most_ranks(program_spec const& spec) {
  std::uint64_t n = 0;
  for (auto const& t : spec.tasks) n += t.max;
  return n;
}

/// Limits of programs, with the behaviour at each limit.
struct program_limits {
  // Unfinished programs. At the limit, a new program is refused.
  std::size_t programs_max = 10'000;
  std::size_t finished_max = 1'000;  // above this limit, the oldest finished program is forgotten
  std::uint32_t ranks_max = 4'096;   // above this limit, the program is refused
  std::uint32_t spares_max = 64;     // above this limit, the program is refused
  std::uint32_t worker_ranks_max = 1'024;  // maximum number of ranks placed on one worker
  std::size_t types_max = 32;
  // Maximum resources, labels of a type, or entries of ends_with. Above this limit or a following
  // limit, the program is refused.
  std::size_t names_max = 64;
  // Maximum bytes of one command, including argument terminators.
  std::size_t command_bytes_max = 128u << 10;
  std::size_t orders_bytes_max = 4u << 20;  // maximum bytes of all rank commands on one worker
  std::size_t env_bytes_max = 128u << 10;
  std::size_t metadata_bytes_max = 64u << 10;
  duration hang_after_min = std::chrono::seconds(1);  // minimum value of hang_after
  std::size_t attempts_kept = 32;  // above this limit, the oldest attempt is forgotten
  duration port_rest = std::chrono::seconds(60);  // time until a released port is reused
};

struct submit_program {
  call_id call{};
  program_spec spec;
};

enum class program_command : std::uint8_t {
  cancel,
  stop,     ///< ends SUCCEEDED if all ranks exit successfully, otherwise CANCELLED
  restart,  ///< starts another attempt that does not count as a restart
  forget,   ///< removes an ended program
  stop_at,  ///< stores `at` for later attempts, after the ranks have agreed on that step
};

/// The step after which all ranks end.
struct agreed_stop {
  std::uint32_t attempt = 0;
  std::uint64_t step = 0;

  bool operator==(agreed_stop const&) const = default;
};

struct change_program {
  call_id call{};
  program_id program{};
  program_command wish{};
  agreed_stop at{};
};

struct uploads_present {
  std::vector<std::string> there{};
};

struct coordination_failed {
  program_id program{};
  std::uint32_t attempt = 0;
  coordination_failure what{};
};

/// How ranks of the attempt can be stopped.
struct program_steps_reported {
  enum class kind : std::uint8_t {
    some,       ///< ranks report steps, so they can end after a step
    preempted,  ///< all ranks end after a step, because a worker is leaving
    none,       ///< the ranks could not agree on a step and are stopped by a signal
  };
  program_id program{};
  std::uint32_t attempt = 0;
  kind what{};
  std::string text{};
};

struct program_reply {
  program_id program{};
  bool created = true;

  bool operator==(program_reply const&) const = default;
};

struct program_changed {
  program_id program{};
  program_state state{};
  std::uint32_t attempt = 0;
  bool gone = false;
  program_end end{};  // end of the attempt, if the attempt has just ended

  bool operator==(program_changed const&) const = default;
};

}  // namespace muster::core
