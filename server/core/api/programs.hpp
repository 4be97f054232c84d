// Programs: what somebody wants to run as ranks on workers, what became of it, and the events about
// it. Plain data. What workers offer, are ordered and report: api/ranks.hpp.
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
  restarting = 3,  ///< an attempt has ended, or is being stopped, and another follows
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
  none = 0,  ///< it has not
  succeeded = 1,
  failed = 2,     ///< a rank failed
  lost = 3,       ///< a worker was lost, or left
  cancelled = 4,  ///< somebody stopped or restarted it
  preempted = 5,  ///< a worker was to leave, and its ranks ended by themselves after a step
  hung = 6,       ///< it came to a stand
};
constexpr auto enum_names(program_end) {
  using enum program_end;
  return enumerators<program_end>(none, "NONE", succeeded, "SUCCEEDED", failed, "FAILED", lost,
                                  "LOST", cancelled, "CANCELLED", preempted, "PREEMPTED", hung,
                                  "HUNG");
}
enum class cause_kind : std::uint8_t {
  exit_status = 0,    ///< a rank ended with one that is not 0
  signal = 1,         ///< a rank was killed
  out_of_memory = 2,  ///< by the kernel, for that
  not_started = 3,    ///< a rank could not be started
  worker_lost = 4,    ///< its worker was away for longer than its lease
  worker_left = 5,    ///< its worker has stopped it to leave
  deadline = 6,
  request = 7,  ///< somebody cancelled, stopped or restarted it
  coordination =
      8,     ///< its coordination service knew a task to have failed; others ended after that
  hang = 9,  ///< it came to a stand
};
constexpr auto enum_names(cause_kind) {
  using enum cause_kind;
  return enumerators<cause_kind>(exit_status, "EXIT_STATUS", signal, "SIGNAL", out_of_memory,
                                 "OUT_OF_MEMORY", not_started, "NOT_STARTED", worker_lost,
                                 "WORKER_LOST", worker_left, "WORKER_LEFT", deadline, "DEADLINE",
                                 request, "REQUEST", coordination, "COORDINATION", hang, "HANG");
}

/// What the program's coordination service had told of a failure.
struct coordination_failure {
  muster::code code = muster::code::unknown;
  std::string task{};  // that failed, "worker:3"; empty: none in particular
  std::string message{};

  bool operator==(coordination_failure const&) const = default;
};

/// Why an attempt, or the program, ended as it did: the first thing that went wrong.
struct program_cause {
  cause_kind kind{};
  std::int64_t rank = -1;  // -1: none
  std::string task{};      // "worker:3"
  std::string host{};
  std::uint32_t exit_status = 0;
  std::uint32_t signal = 0;
  std::string text{};  // for people, one line
  std::vector<std::string> stderr_lines{};
  std::optional<coordination_failure> coordination{};  // that was told before, in the attempt
  std::optional<core::hang> hang{};

  bool operator==(program_cause const&) const = default;
};

using named_amounts = std::vector<std::pair<std::string, std::uint32_t>>;
using named_texts = std::vector<std::pair<std::string, std::string>>;

/// Tasks of one type.
struct program_tasks {
  std::string type = "worker";
  std::uint32_t min = 1, max = 1;      // how many
  std::vector<std::string> command{};  // empty: that of the program
  named_amounts resources{};           // of each
  named_texts labels{};                // of the workers that run them

  bool operator==(program_tasks const&) const = default;
};

/// Who has its store of torch.distributed.
enum class store_place : std::uint8_t { rank0 = 0, server = 1 };
constexpr auto enum_names(store_place) {
  using enum store_place;
  return enumerators<store_place>(rank0, "rank0", server, "server");
}

struct program_spec {
  std::string name{};
  std::vector<std::string> command{};
  std::vector<program_tasks> tasks{};
  std::uint32_t per_worker = 0;  // ranks on one worker at most; 0: as many as fit
  named_texts env{};
  std::string working_dir{};
  std::string upload{};  // SHA-256 of a blob, 64 hexadecimal digits: what working directories have
  std::vector<std::string> preload{};  // Python modules that are imported before ranks are forked
  std::uint32_t max_restarts = 0;
  duration grace = std::chrono::seconds(10);
  duration restart_grace = std::chrono::seconds(1);
  duration deadline{};       // not ended this long after it was submitted: FAILED; 0: none
  duration notice{};         // before the deadline its ranks are asked to end; killed at it
  std::uint32_t spares = 0;  // further places for its tasks that are put by while it runs
  std::int32_t priority = 0;
  std::uint32_t weight = 1;              // the more, the larger its submitter's share; not 0
  std::vector<std::string> ends_with{};  // types, or "worker:0"; empty: all but ps
  store_place store = store_place::rank0;
  hang_policy on_hang = hang_policy::tell;
  duration hang_after = std::chrono::seconds(60);  // nothing has moved for this long
  /// RE2 whose first group is the step in a line that a rank prints; empty: ranks report steps.
  std::string step_pattern{};
  std::string idempotency_key{};  // a second one with it returns the first program
  std::string request_digest{};   // of the request that carries the key; empty: not compared
  std::string metadata{};         // JSON object text, returned as it came
  std::string submitted_by{};     // id of a token; empty: nobody was asked

  bool operator==(program_spec const&) const = default;
};

/// Returns the number of ranks that a program can have.
inline std::uint64_t most_ranks(program_spec const& spec) {
  std::uint64_t n = 0;
  for (auto const& t : spec.tasks) n += t.max;
  return n;
}

/// What is said at each limit stands beside it.
struct program_limits {
  std::size_t programs_max = 10'000;       // known at one time. Full of unfinished ones: refused
  std::size_t finished_max = 1'000;        // kept to be looked at. More: the oldest is forgotten
  std::uint32_t ranks_max = 4'096;         // of one program. More: refused
  std::uint32_t spares_max = 64;           // of one program. More: refused
  std::uint32_t worker_ranks_max = 1'024;  // on one worker. No more are placed there
  std::size_t types_max = 32;
  std::size_t names_max = 64;  // resources, labels of a type; ends. More: refused, as all below
  std::size_t command_bytes_max = 128u << 10;  // with its words' ends; of each command
  std::size_t orders_bytes_max = 4u << 20;     // commands of all ranks that one worker may get
  std::size_t env_bytes_max = 128u << 10;
  std::size_t metadata_bytes_max = 64u << 10;
  duration hang_after_min = std::chrono::seconds(1);  // a shorter hang_after is refused
  std::size_t attempts_kept = 32;                 // of one program. More: the oldest is forgotten
  duration port_rest = std::chrono::seconds(60);  // a port is not used again for so long
};

/// Events about programs.
struct submit_program {
  call_id call{};
  program_spec spec;
};

enum class program_wish : std::uint8_t {
  cancel,   ///< ends CANCELLED
  stop,     ///< ends SUCCEEDED where all ranks end well when they are asked to, else CANCELLED
  restart,  ///< another attempt, which is not counted
  forget,   ///< an ended one
  stop_at,  ///< `at`, which its ranks of now have agreed on: remembered for attempts after this one
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
  agreed_stop at{};  // of stop_at
};

/// Which of the blobs that programs of this core name as their `upload` the server has.
struct uploads_seen {
  std::vector<std::string> there{};
};

/// The coordination service of the attempt has told of a failure.
struct coordination_failed {
  program_id program{};
  std::uint32_t attempt = 0;
  coordination_failure what{};
};

/// What is known of the steps that ranks of the attempt say.
struct program_steps_said {
  enum class kind : std::uint8_t {
    some,       ///< ranks say steps: they can be asked to end by them
    preempted,  ///< all are about to end after a step, as a worker of theirs leaves
    none,       ///< they are to end by a step, and could not agree on one: a signal has to do
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

/// All that a program is, to who follows it. `gone`: it was forgotten.
struct program_changed {
  program_id program{};
  program_state state{};
  std::uint32_t attempt = 0;
  bool gone = false;
  program_end end{};  // how the attempt has just ended; none: it has not

  bool operator==(program_changed const&) const = default;
};

}  // namespace muster::core
