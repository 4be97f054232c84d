// Views of programs for readers. No view contains values of `env`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/programs.hpp"

namespace muster::core {

using muster::name;

enum class rank_state : std::uint8_t {
  ordered = 0,  ///< the worker was asked to start the rank
  running = 1,
  succeeded = 2,
  failed = 3,
  stopped = 4,  ///< stopped by an order, or ended with its worker
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
  std::string not_preloaded;  // reason why `preload` was not used
  bool out_of_memory = false;
  bool worker_lost = false;  // the worker is disconnected; the rank may be alive
  named_amounts resources;
  // Set by the caller, because the core does not know the following values:
  std::string last_line{};
  std::optional<std::uint64_t> step{};
  time_point step_reached = never;
  duration step_took{};  // median duration of the last steps; 0 if unknown
};

/// A disconnected worker with ranks of the attempt that are not known to be dead.
struct lost_worker_view {
  std::string worker, host;
  std::uint32_t ranks = 0;
  time_point since{};              // when the connection ended or this server process started
  time_point given_up{};           // end of the lease (--program-lease) plus a margin
  std::uint32_t next_attempt = 0;  // attempt that follows at `given_up`; 0 while stopping
  std::vector<std::string> next_hosts{};  // hosts with spares for the next attempt
  std::string text{};                     // set by describe_losses()
};

struct program_steps_view {
  struct slow {
    std::uint32_t rank = 0;
    std::string host, worker;
    bool chronic = false;  // whether most steps are slow, not only single steps
    // If chronic, whether the delay was measured by arrival, not by step duration.
    bool arrives_late = false;
    std::uint32_t permille = 0;  // if chronic, the delay in thousandths of the step duration
    std::uint32_t attempts = 0;  // attempts with a slow rank on this host
    std::uint32_t runs = 0;      // programs, including this one, with a slow rank on this host
    std::uint64_t step = 0;      // last slow step, if `chronic` is false
    duration took{}, usual{};    // duration of `step`, and median duration for other ranks
    // Number of slow steps among the most recent steps; used only if `chronic` is false.
    std::uint32_t times = 0;
  };
  std::uint64_t least = 0, most = 0;
  std::uint32_t ranks = 0;                    // number of ranks that report steps
  duration took{};                            // median step duration of all ranks; 0 if unknown
  std::optional<std::uint64_t> stop_after{};  // all ranks end after this step
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

/// A row of a continuously refreshed listing. Omits commands, which can be megabytes long.
struct program_row {
  program_id id{};
  std::string name;
  program_state state{};
  std::uint32_t attempt = 0, restarts = 0, max_restarts = 0;
  std::uint32_t ranks = 0, started = 0, alive = 0;
  time_point created{}, finished = never;
  std::string cause, waits_for;
  struct group {
    std::string type;
    std::uint32_t min = 0, max = 0;
  };
  std::vector<group> tasks;
};

/// A program none of whose ranks runs.
struct waiting_program_view {
  program_id id{};
  std::string name;
  std::int32_t priority = 0;
  std::uint32_t ranks = 0;      // smallest number of ranks with which the program starts
  std::uint32_t would_fit = 0;  // ranks for which there was room when the program was last tried
  std::uint32_t workers = 0;    // workers that accept ranks
  time_point since{};
  std::string waits_for;
  bool cannot_start = false;  // whether the program would not fit even on idle workers
};

struct waiting_programs_view {
  static constexpr std::size_t max = 100;
  std::vector<waiting_program_view> items;
  std::uint64_t all = 0;  // number of waiting programs, including omitted programs
};

struct program_view {
  program_id id{};
  std::string cluster;
  std::string coordination_cluster;  // the program's own cluster in its last attempt; may be empty
  program_spec spec;                 // `env` contains only names
  program_state state{};
  std::uint32_t attempt = 0;
  std::uint32_t restarts = 0;  // restarts that count towards max_restarts
  std::uint32_t ranks = 0, started = 0, alive = 0;
  std::uint32_t spares = 0;
  time_point created{}, finished = never;
  std::optional<program_cause> cause;
  std::string waits_for;  // why no rank runs yet; empty if ranks run or the program has ended
  // Whether the program waits, and the workers lack the capacity even when idle.
  bool cannot_start = false;
  std::optional<agreed_stop> stop_at{};       // earliest step at which a new attempt can stop
  std::optional<program_steps_view> steps{};  // set by the caller if steps are reported
  std::optional<core::hang> hang{};  // last report to the core; the doctor may have newer data
  std::vector<lost_worker_view> lost_workers{};  // set only if a single program was requested
};

/// Sets the `text` of each lost worker, with the times that remain at `now`.
void describe_losses(program_view& p, time_point now);

struct program_counts {
  std::uint32_t by_state[enum_size<program_state>] = {};
  std::uint32_t ranks_alive = 0;
};

}  // namespace muster::core
