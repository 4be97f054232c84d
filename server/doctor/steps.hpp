// Which step each rank of a program has reached and when, and how long steps take, as far as ranks
// say it. Of each program the last attempt that something was said of.
//
//   a worker's report, once a second ──► reported ──► progress, look, ranks
//
// Owned by a hub; engine thread only. Limits: ranks_max, steps_kept, hosts_kept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/core/api/ranks.hpp"
#include "server/doctor/slow_ranks.hpp"
#include "server/doctor/step_log.hpp"

namespace muster::doctor {

/// What a worker says of one rank.
struct step_report {
  static constexpr std::size_t marks_max = 64;
  struct mark {
    std::uint64_t step = 0;
    core::duration at{};  // by the monotonic clock of the rank's host
  };
  std::uint32_t rank = 0;
  std::uint64_t step = 0;      // the last
  core::duration at{};         // when it was reached, by that clock
  std::vector<mark> marks{};   // the newest since the last report, in order, with the last one
  std::uint32_t left_out = 0;  // so many before these, for which there was no room
};

/// Where a rank is, and what it is.
struct rank_place {
  std::string host{}, type{}, worker{};
};

struct rank_progress {
  std::uint64_t step = 0;
  core::time_point reached{};
};

struct rank_steps {
  std::uint64_t step = 0;
  core::time_point reached{};
  core::duration took{};  // the median of the last ones; 0: not known
};

struct program_steps {
  struct slow {
    slow_rank what{};
    std::string host{}, worker{};
    // In so many attempts of this program, and programs, this one among them, a rank of the host
    // was chronically behind.
    std::uint32_t attempts = 0, runs = 0;
  };
  std::uint64_t least = 0, most = 0;  // of the ranks that have said one
  std::uint32_t ranks = 0;            // so many have
  core::duration took{};              // the median of those
  std::vector<slow> slow_ones{};      // the worst first, at most slow_shown
};

class step_table {
 public:
  /// Ranks of all programs that are remembered. More: the program of which nothing was said for
  /// longest is forgotten.
  static constexpr std::size_t ranks_max = 16'384;
  /// Steps of which it is known when each rank has reached them: the newest.
  static constexpr std::size_t steps_kept = 128;
  /// A rank's step time is the median of so many.
  static constexpr std::size_t steps_timed = 32;
  /// Hosts of a program that were slow in an attempt before.
  static constexpr std::size_t hosts_kept = 64;
  /// Hosts that were slow in programs that are forgotten. More are not remembered.
  static constexpr std::size_t hosts_of_runs_kept = 1'024;
  static constexpr std::size_t slow_shown = 16;

  struct report {
    core::program_id program{};
    std::uint32_t attempt = 0;
    core::duration sent{};  // by the monotonic clock of the worker's host
    std::vector<step_report> ranks{};
  };
  /// By rank, of all that the attempt has. Asked once an attempt.
  using places_function = std::function<std::vector<rank_place>()>;
  /// Gives the steps that it tells of, with their times; of the first that a rank says it is not
  /// known when it began. Passed over: what is about an earlier attempt, or ranks that there are
  /// not.
  std::vector<step_span> reported(core::time_point now, report const& what,
                                  places_function const& places);
  void forget(core::program_id program);

  /// None: it has said no step.
  std::optional<rank_progress> progress(core::program_id program, std::uint32_t attempt,
                                        std::uint32_t rank) const;
  std::optional<rank_steps> look(core::program_id program, std::uint32_t attempt,
                                 std::uint32_t rank) const;
  /// None: no rank has said a step. `slow_ones`: also who is behind.
  std::optional<program_steps> whole(core::program_id program, std::uint32_t attempt,
                                     bool slow_ones) const;
  std::size_t ranks() const;
  /// Of the programs that are remembered, the last that something was said of.
  std::vector<std::pair<core::program_id, std::uint32_t>> attempts() const;

 private:
  struct rank {
    std::uint64_t step = 0;
    core::duration at{};  // by its host's clock
    core::time_point reached{};
    bool said = false;
    core::duration pace{};  // of a step, since the report before; 0: not known
  };
  /// What to add to a host's clock, from what comes from there: the least delay counts.
  struct clock {
    core::duration now{}, before{};
    core::time_point since{};
    bool known = false;
  };
  struct program {
    std::uint32_t attempt = 0;
    core::time_point heard{};
    std::vector<rank> ranks;
    std::vector<rank_place> places;
    std::vector<std::uint32_t> types;  // by rank
    std::vector<step_column> columns;  // by step, rising
    std::map<std::string, clock> clocks;
    std::map<std::string, std::uint32_t> slow_before;  // attempts, by host
    /// Since the last report; none: nobody has asked. All who look share it.
    mutable std::optional<std::vector<slow_rank>> slow_known;
  };
  program* attempt_of(core::time_point now, report const& what, places_function const& places);
  void make_room(core::program_id but, std::size_t for_ranks);
  static core::duration offset(clock& c, core::time_point now, core::duration sent);
  static void take(program& p, step_report const& r, core::duration offset, core::time_point now,
                   std::vector<step_span>& told);
  static step_column* column_of(program& p, std::uint64_t step);
  static void remember_hosts(program& p);
  /// In which a rank was behind, in this attempt or before.
  static std::set<std::string> slow_hosts(program const& p);
  std::map<std::string, std::uint32_t> slow_in_others(core::program_id than) const;
  static std::vector<slow_rank> const& slow_of(program const& p);
  static std::vector<slow_rank> left_behind(program const& p);
  program const* find(core::program_id program, std::uint32_t attempt) const;

  std::map<core::program_id, program> programs_;
  std::map<std::string, std::uint32_t> slow_runs_;  // of programs that are forgotten, by host
};

}  // namespace muster::doctor
