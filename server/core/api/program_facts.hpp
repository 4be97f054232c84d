// What a restart must know of programs: what each step changed, as data to be written down, and the
// same data to begin again with. A fact replaces what was said of the same thing before; those of a
// step are written as one.
//
// Not among them, since it follows from workers that come back: which ranks run, and their pids.
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

/// What becomes of the program when nothing of its attempt is alive any more.
enum class goal : std::uint8_t {
  run = 0,  ///< it goes on
  again = 1,
  succeed = 2,
  fail = 3,
  cancel = 4,
  stop = 5,  ///< as its ranks end
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

/// Of the oldest, when there are more than are kept.
struct attempt_gone {
  program_id program{};
  std::uint32_t attempt = 0;

  bool operator==(attempt_gone const&) const = default;
};

/// Where the ranks of the last attempt run. What was said of ranks of the one before goes with it.
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
    std::uint32_t group = 0;  // in the program's tasks
    std::uint32_t index = 0;  // of its type
    std::uint32_t place = 0;  // in `places`
    std::uint32_t port = 0;

    bool operator==(seat const&) const = default;
  };
  program_id program{};
  std::uint32_t attempt = 0;
  std::vector<place> places{};
  std::vector<seat> ranks{};  // by number
  std::string own_service{}, meeting_point{};
  bool tunnels = false;                                        // all its workers open tunnels
  bool store = false;                                          // as attempt_sheet has it
  std::vector<std::pair<std::string, std::uint16_t>> ports{};  // those two's: address, port

  bool operator==(placement_fact const&) const = default;
};

/// It is dead.
struct rank_fact {
  rank_name name{};
  bool well = false;  // it ended by itself or was asked to, with status 0
  rank_state state{};
  std::uint32_t pid = 0;
  time_point started = never, ended = never;
  std::uint32_t exit_status = 0, signal = 0;
  std::string not_started{};
  bool out_of_memory = false;

  bool operator==(rank_fact const&) const = default;
};

/// It was forgotten, with all that was said of it.
struct program_gone {
  program_id program{};

  bool operator==(program_gone const&) const = default;
};

using fact = std::variant<submitted_fact, course_fact, attempt_fact, attempt_gone, placement_fact,
                          rank_fact, program_gone>;

/// All that is known of a program.
struct restored_program {
  submitted_fact submitted;
  course_fact course;
  std::vector<program_attempt_view> attempts;  // that are kept, the last one last
  std::optional<placement_fact> placement;     // of the last one; none: nothing was placed
  std::vector<rank_fact> ended;                // of the last one, one of a rank at most
};

/// An event, before all of workers and clients: these programs are known from before, with their
/// ids, which nothing else has. Workers that may have their ranks are away until they come.
/// REQUIRES: each is consistent, see server/journal/fact_encoding.hpp.
struct restore_programs {
  std::vector<restored_program> programs;  // consumed
};

}  // namespace muster::core::programs
