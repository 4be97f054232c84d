// Programs as readers see them. Everything is copied; values of `env` are in none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/programs.hpp"

namespace muster::core {

using muster::name;

enum class rank_state : std::uint8_t {
  ordered = 0,  ///< its worker is to start it
  running = 1,
  succeeded = 2,
  failed = 3,
  stopped = 4,  ///< it was ended, by an order or with its worker
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
  std::string not_preloaded;  // why it began without, though its program has `preload`
  bool out_of_memory = false;
  bool worker_lost = false;  // not known to be dead, and its worker has no connection
  named_amounts resources;
  // Set by who asks, as the core does not know it:
  std::string last_line{};
  std::optional<std::uint64_t> step{};  // the last; none: it has said none
  time_point step_reached = never;
  duration step_took{};  // the median of the last ones; 0: not known
};

/// A worker without a connection that has ranks of the attempt which are not known to be dead.
struct lost_worker_view {
  std::string worker, host;
  std::uint32_t ranks = 0;
  time_point since{};                     // its connection ended, or this server process started
  time_point given_up{};                  // its lease (--program-lease) has run out, with a margin
  std::uint32_t next_attempt = 0;         // begins then; 0: none, the program is being stopped
  std::vector<std::string> next_hosts{};  // with spares for it
  std::string text{};                     // set by describe_losses()
};

/// How far a program's ranks are, where they say steps.
struct program_steps_view {
  struct slow {
    std::uint32_t rank = 0;
    std::string host, worker;
    bool chronic = false;        // step after step; else one is odd, now and then
    bool arrives_late = false;   // chronic: by when it arrives, not by how long it takes
    std::uint32_t permille = 0;  // chronic: of a step, by which it is behind
    std::uint32_t attempts = 0;  // in so many somebody on this host was
    std::uint32_t runs = 0;      // and in so many programs, this one among them
    std::uint64_t step = 0;      // not chronic: the last such step,
    duration took{}, usual{};    // its length and that of others,
    std::uint32_t times = 0;     // and how often, of the newest steps
  };
  std::uint64_t least = 0, most = 0;
  std::uint32_t ranks = 0;                    // that say steps
  duration took{};                            // the median of theirs; 0: not known
  std::optional<std::uint64_t> stop_after{};  // all are to end behind it
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

/// What a list that is looked at all the time shows of one: commands may have megabytes.
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
  program_spec spec;                 // env: names alone
  program_state state{};
  std::uint32_t attempt = 0;                        // 0: none yet
  std::uint32_t restarts = 0;                       // those that count
  std::uint32_t ranks = 0, started = 0, alive = 0;  // of the attempt
  std::uint32_t spares = 0;                         // places that are put by now
  time_point created{}, finished = never;
  std::optional<program_cause> cause;
  std::string waits_for;      // why nothing runs yet; empty: something does, or it has ended
  bool cannot_start = false;  // it waits, and no connected worker has what it needs, even idle
  std::optional<agreed_stop> stop_at{};       // for attempts after that one: not before this step
  std::optional<program_steps_view> steps{};  // set by who asks; none: no rank says any
  std::optional<core::hang> hang{};  // as last told to the core; whoever shows it asks the doctor
  std::vector<lost_worker_view> lost_workers{};  // of one program that is asked for
};

/// Sets the texts of its lost workers, with the times that are left at `now`.
void describe_losses(program_view& p, time_point now);

struct program_counts {
  std::uint32_t by_state[enum_size<program_state>] = {};
  std::uint32_t ranks_alive = 0;
};

}  // namespace muster::core
