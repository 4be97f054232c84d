// Facts about programs that a restart needs: the changes of each step, written to the journal, and
// the same data when it is restored. A fact replaces the previous fact about the same thing; the
// facts of a step are written together.
//
// Running ranks and their pids are not stored. They are learned from workers that reconnect.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/program_views.hpp"
#include "server/core/api/ranks.hpp"

namespace muster::core::programs {

using muster::name;

/// The next step of a program when no rank of its attempt is alive any longer.
enum class goal : std::uint8_t {
  run = 0,  ///< it continues
  again = 1,
  succeed = 2,
  fail = 3,
  cancel = 4,
  stop = 5,  ///< as its ranks' exit statuses decide
};
constexpr auto enum_names(goal) {
  using enum goal;
  return enumerators<goal>(run, "run", again, "again", succeed, "succeed", fail, "fail", cancel,
                           "cancel", stop, "stop");
}

struct submitted_fact {
  program_id program{};
  std::shared_ptr<program_spec const> spec{};
  time_point created{};

  bool operator==(submitted_fact const& o) const {
    return program == o.program && *spec == *o.spec && created == o.created;
  }
};

struct course_fact {
  program_id program{};
  program_state state{};
  programs::goal goal{};
  std::uint32_t attempts = 0;
  std::uint32_t counted_restarts = 0;
  std::uint32_t quick_ends = 0;
  named_amounts failures{};  // by host
  std::optional<program_cause> cause{};
  time_point finished = never;
  time_point not_before{};
  std::optional<agreed_stop> stop_at{};
  std::optional<core::hang> hang{};  // of the last attempt

  bool operator==(course_fact const&) const = default;
};

struct attempt_fact {
  program_id program{};
  program_attempt_view about{};

  bool operator==(attempt_fact const&) const = default;
};

/// The oldest attempt was removed, because only a limited number is kept.
struct attempt_removed {
  program_id program{};
  std::uint32_t attempt = 0;

  bool operator==(attempt_removed const&) const = default;
};

/// Where the ranks of the last attempt run. A new one replaces the facts about ranks of the
/// previous attempt.
struct placement_fact {
  struct place {
    std::string job{};
    std::int64_t index = 0;
    core::incarnation incarnation{};
    std::string host{}, address{};
    std::uint32_t first_port = 0, last_port = 0;
    duration lease{};

    bool operator==(place const&) const = default;
  };
  struct seat {
    std::uint32_t group = 0;  // index into the program's tasks
    std::uint32_t index = 0;  // among tasks of its type
    std::uint32_t place = 0;  // index into `places`
    std::uint32_t port = 0;

    bool operator==(seat const&) const = default;
  };
  program_id program{};
  std::uint32_t attempt = 0;
  std::vector<place> places{};
  std::vector<seat> ranks{};  // by rank
  std::string own_service{}, meeting_point{};
  bool tunnels = false;  // all its workers open tunnels
  bool store = false;    // as attempt_sheet::store
  // Of own_service and meeting_point: address, port.
  std::vector<std::pair<std::string, std::uint16_t>> ports{};

  bool operator==(placement_fact const&) const = default;
};

/// A rank has ended.
struct rank_fact {
  rank_name name{};
  bool well = false;  // it ended by itself or on request, with status 0
  rank_state state{};
  std::uint32_t pid = 0;
  time_point started = never, ended = never;
  std::uint32_t exit_status = 0, signal = 0;
  std::string not_started{};
  bool out_of_memory = false;

  bool operator==(rank_fact const&) const = default;
};

/// The program was forgotten, with all facts about it.
struct program_removed {
  program_id program{};

  bool operator==(program_removed const&) const = default;
};

using fact = std::variant<submitted_fact, course_fact, attempt_fact, attempt_removed,
                          placement_fact, rank_fact, program_removed>;

/// All stored facts about a program.
struct restored_program {
  submitted_fact submitted;
  course_fact course;
  std::vector<program_attempt_view> attempts;  // kept ones, the last one last
  std::optional<placement_fact> placement;     // of the last attempt; none: nothing was placed
  std::vector<rank_fact> ended;                // of the last attempt, at most one for each rank
};

/// An event, before all events of workers and clients: restores programs of an earlier process with
/// their ids, which are not in use. Workers that may still run their ranks are away until they
/// reconnect. REQUIRES: each program is consistent, see server/journal/fact_encoding.hpp.
struct restore_programs {
  std::vector<restored_program> programs;  // consumed
};

}  // namespace muster::core::programs
