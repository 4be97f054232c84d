// Durable state of programs, for the journal and for a restart. A fact replaces the previous fact
// about the same object. The facts of a step are written together.
//
// Reconnecting workers report running ranks and their pids.
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

/// The next step of a program when no rank of its attempt is alive.
enum class goal : std::uint8_t {
  run = 0,
  again = 1,
  succeed = 2,
  fail = 3,
  cancel = 4,
  stop = 5,  ///< the result depends on the exit statuses of the ranks
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
  named_amounts failures{};
  std::optional<program_cause> cause{};
  time_point finished = never;
  time_point not_before{};
  std::optional<agreed_stop> stop_at{};
  std::optional<core::hang> hang{};

  bool operator==(course_fact const&) const = default;
};

struct attempt_fact {
  program_id program{};
  program_attempt_view about{};

  bool operator==(attempt_fact const&) const = default;
};

struct attempt_removed {
  program_id program{};
  std::uint32_t attempt = 0;

  bool operator==(attempt_removed const&) const = default;
};

/// Placement of the ranks of the last attempt. This fact also replaces the rank facts of the
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
    std::uint32_t index = 0;  // index among tasks of its type
    std::uint32_t place = 0;  // index into `places`
    std::uint32_t port = 0;

    bool operator==(seat const&) const = default;
  };
  program_id program{};
  std::uint32_t attempt = 0;
  std::vector<place> places{};
  std::vector<seat> ranks{};  // indexed by rank
  std::string own_service{}, meeting_point{};
  bool tunnels = false;
  bool store = false;
  // Addresses and ports of own_service and meeting_point.
  std::vector<std::pair<std::string, std::uint16_t>> ports{};

  bool operator==(placement_fact const&) const = default;
};

struct rank_fact {
  rank_name name{};
  bool well = false;  // whether the rank exited with status 0, by itself or on request
  rank_state state{};
  std::uint32_t pid = 0;
  time_point started = never, ended = never;
  std::uint32_t exit_status = 0, signal = 0;
  std::string not_started{};
  bool out_of_memory = false;

  bool operator==(rank_fact const&) const = default;
};

struct program_removed {
  program_id program{};

  bool operator==(program_removed const&) const = default;
};

using fact = std::variant<submitted_fact, course_fact, attempt_fact, attempt_removed,
                          placement_fact, rank_fact, program_removed>;

struct restored_program {
  submitted_fact submitted;
  course_fact course;
  std::vector<program_attempt_view> attempts;  // oldest first
  std::optional<placement_fact> placement;
  std::vector<rank_fact> ended;
};

/// Event: restores programs under their ids, which must be unused. Precedes all events from workers
/// and clients. Workers that may still run ranks are away until they reconnect. REQUIRES: each
/// program is consistent; see server/journal/fact_encoding.hpp.
struct restore_programs {
  std::vector<restored_program> programs;  // consumed by the step
};

}  // namespace muster::core::programs
