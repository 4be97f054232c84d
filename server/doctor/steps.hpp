// The times at which ranks reached their steps, and the step durations, as reported by workers.
// Contains the last reported attempt of each program. Owned by a hub; used only on the engine
// thread.
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

struct step_report {
  static constexpr std::size_t marks_max = 64;
  struct mark {
    std::uint64_t step = 0;
    core::duration at{};  // on the monotonic clock of the rank's host
  };
  std::uint32_t rank = 0;
  std::uint64_t step = 0;
  core::duration at{};         // when `step` was reached, on the clock of `mark::at`
  std::vector<mark> marks{};   // newest steps since the last report, in order, including `step`
  std::uint32_t left_out = 0;  // number of steps before `marks` that were omitted for lack of space
};

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
  core::duration took{};  // median duration of the last steps; 0 if unknown
};

struct program_steps {
  struct slow {
    slow_rank what{};
    std::string host{}, worker{};
    // Number of attempts of this program, and number of programs including this program, in which a
    // rank of the host was chronically slow.
    std::uint32_t attempts = 0, runs = 0;
  };
  std::uint64_t least = 0, most = 0;  // among ranks that have reported a step
  std::uint32_t ranks = 0;            // ranks that have reported a step
  core::duration took{};
  std::vector<slow> slow_ones{};  // slowest first; at most slow_shown
};

class step_table {
 public:
  /// Maximum number of ranks in all programs. At the limit, the program whose last report is oldest
  /// is dropped.
  static constexpr std::size_t ranks_max = 16'384;
  static constexpr std::size_t steps_kept = 128;
  /// A rank's step time is the median of this many steps.
  static constexpr std::size_t steps_timed = 32;
  /// Maximum number of remembered hosts per program that were slow in earlier attempts.
  static constexpr std::size_t hosts_kept = 64;
  /// Maximum number of slow hosts to remember from removed programs. Further hosts are ignored.
  static constexpr std::size_t hosts_of_runs_kept = 1'024;
  static constexpr std::size_t slow_shown = 16;

  struct report {
    core::program_id program{};
    std::uint32_t attempt = 0;
    core::duration sent{};  // on the monotonic clock of the worker's host
    std::vector<step_report> ranks{};
  };
  /// Returns the places of all ranks, indexed by rank. Called once for each attempt.
  using places_function = std::function<std::vector<rank_place>()>;
  /// Returns the steps of a report with their times. Omits a rank's first step, whose start is
  /// unknown. Ignores earlier attempts and unknown ranks.
  std::vector<step_span> reported(core::time_point now, report const& what,
                                  places_function const& places);
  void forget(core::program_id program);

  /// Returns nothing if the rank has reported no step.
  std::optional<rank_progress> progress(core::program_id program, std::uint32_t attempt,
                                        std::uint32_t rank) const;
  std::optional<rank_steps> find(core::program_id program, std::uint32_t attempt,
                                 std::uint32_t rank) const;
  /// Returns nothing if no rank has reported a step. Includes slow ranks if `slow_ones` is set.
  std::optional<program_steps> whole(core::program_id program, std::uint32_t attempt,
                                     bool slow_ones) const;
  std::size_t ranks() const;
  std::vector<std::pair<core::program_id, std::uint32_t>> attempts() const;

 private:
  struct rank {
    std::uint64_t step = 0;
    core::duration at{};  // on the monotonic clock of the rank's host
    core::time_point reached{};
    bool said = false;
    core::duration pace{};  // time per step since the previous report; 0 if unknown
  };
  /// Offset to add to a host's clock, from the report with the minimum delay.
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
    std::vector<std::uint32_t> types;
    std::vector<step_column> columns;  // sorted by step
    std::map<std::string, clock> clocks;
    std::map<std::string, std::uint32_t> slow_before;  // number of attempts by host
    mutable std::optional<std::vector<slow_rank>> slow_known;
  };
  program* attempt_of(core::time_point now, report const& what, places_function const& places);
  void make_room(core::program_id but, std::size_t for_ranks);
  static core::duration offset(clock& c, core::time_point now, core::duration sent);
  static void take(program& p, step_report const& r, core::duration offset, core::time_point now,
                   std::vector<step_span>& told);
  static step_column* column_of(program& p, std::uint64_t step);
  static void remember_hosts(program& p);
  static std::set<std::string> slow_hosts(program const& p);
  std::map<std::string, std::uint32_t> slow_in_others(core::program_id than) const;
  static std::vector<slow_rank> const& slow_of(program const& p);
  static std::vector<slow_rank> left_behind(program const& p);
  program const* find(core::program_id program, std::uint32_t attempt) const;

  std::map<core::program_id, program> programs_;
  std::map<std::string, std::uint32_t> slow_runs_;  // number of removed programs by host
};

}  // namespace muster::doctor
