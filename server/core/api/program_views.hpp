// Views of programs for readers. Everything is copied; none contains values of `env`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/programs.hpp"

namespace muster::core {

using muster::name;

enum class rank_state : std::uint8_t {
  ordered = 0,  ///< its worker was asked to start it
  running = 1,
  succeeded = 2,
  failed = 3,
  stopped = 4,  ///< ended by an order, or with its worker
};
constexpr auto enum_names(rank_state) {
  using enum rank_state;
  return enumerators<rank_state>(ordered, "STARTING", running, "RUNNING", succeeded, "SUCCEEDED",
                                 failed, "FAILED", stopped, "STOPPED");
}

struct rank_view {
  std::uint32_t rank = 0;
  std::string task;  // "worker:3"
  rank_state state{};
  std::string worker, host, address;
  std::uint32_t pid = 0;
  time_point started = never, ended = never;
  std::uint32_t exit_status = 0, signal = 0;
  std::string not_started;
  std::string not_preloaded;  // why it started without the modules of the program's `preload`
  bool out_of_memory = false;
  bool worker_lost = false;  // its worker is disconnected, and the rank is not known to be dead
  named_amounts resources;
  // Set by the caller, since the core does not know it:
  std::string last_line{};
  std::optional<std::uint64_t> step{};  // the last reported step; none: no step was reported
  time_point step_reached = never;
  duration step_took{};  // median of the last steps; 0: unknown
};

/// A disconnected worker with ranks of the attempt that are not known to be dead.
struct lost_worker_view {
  std::string worker, host;
  std::uint32_t ranks = 0;
  time_point since{};              // its connection ended, or this server process started
  time_point given_up{};           // end of its lease (--program-lease), with a margin
  std::uint32_t next_attempt = 0;  // begins at `given_up`; 0: none, the program is being stopped
  std::vector<std::string> next_hosts{};  // with spares for the next attempt
  std::string text{};                     // set by describe_losses()
};

/// The progress of a program's ranks, if they report steps.
struct program_steps_view {
  struct slow {
    std::uint32_t rank = 0;
    std::string host, worker;
    bool chronic = false;        // slow in every step; otherwise single steps are slow
    bool arrives_late = false;   // if chronic: measured by arrival, not by the length of its steps
    std::uint32_t permille = 0;  // if chronic: delay as a part of a step
    std::uint32_t attempts = 0;  // number of attempts in which a rank on this host was slow
    std::uint32_t runs = 0;      // number of programs, including this one, in which it was
    std::uint64_t step = 0;      // if not chronic: the last slow step,
    duration took{}, usual{};    // its length and the length of others,
    std::uint32_t times = 0;     // and the number of slow steps among the newest
  };
  std::uint64_t least = 0, most = 0;
  std::uint32_t ranks = 0;                    // that report steps
  duration took{};                            // median of all; 0: unknown
  std::optional<std::uint64_t> stop_after{};  // the step after which all ranks end
  std::vector<slow> slow_ones;
};

struct program_attempt_view {
  std::uint32_t attempt = 0;
  program_end end{};
  std::uint32_t ranks = 0;
  std::uint32_t hosts = 0;
  time_point begun{}, running_since = never, ended = never;
  std::optional<program_cause> cause;

  bool operator==(program_attempt_view const&) const = default;
};

/// A row of a listing that is refreshed continuously. It omits commands, which can have megabytes.
struct program_row {
  program_id id{};
  std::string name;
  program_state state{};
  std::uint32_t attempt = 0, restarts = 0, max_restarts = 0;
  std::uint32_t ranks = 0, started = 0, alive = 0;
  time_point created{}, finished = never;
  std::string cause, waits_for;  // empty: none
  struct group {
    std::string type;
    std::uint32_t min = 0, max = 0;
  };
  std::vector<group> tasks;
};

struct program_view {
  program_id id{};
  std::string cluster;
  std::string coordination_cluster;  // its own, of the last attempt; empty: none
  program_spec spec;                 // env: only names
  program_state state{};
  std::uint32_t attempt = 0;                        // 0: none yet
  std::uint32_t restarts = 0;                       // that count towards max_restarts
  std::uint32_t ranks = 0, started = 0, alive = 0;  // of the attempt
  std::uint32_t spares = 0;                         // places that are reserved now
  time_point created{}, finished = never;
  std::optional<program_cause> cause;
  std::string waits_for;      // why no rank runs yet; empty: ranks run, or the program has ended
  bool cannot_start = false;  // it waits, and connected workers lack capacity for it even when idle
  std::optional<agreed_stop> stop_at{};       // later attempts do not stop before this step
  std::optional<program_steps_view> steps{};  // set by the caller; none: no rank reports steps
  std::optional<core::hang> hang{};  // as last reported to the core; the doctor may know more
  std::vector<lost_worker_view> lost_workers{};  // only if a single program is requested
};

/// Sets the texts of the program's lost workers, with the remaining times at `now`.
void describe_losses(program_view& p, time_point now);

struct program_counts {
  std::uint32_t by_state[enum_size<program_state>] = {};
  std::uint32_t ranks_alive = 0;
};

}  // namespace muster::core
