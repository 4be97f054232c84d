// A program, its attempt of now, and what is left of those before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/core/api/program_facts.hpp"
#include "server/core/common/alarms.hpp"
#include "server/core/programs/hosts.hpp"
#include "server/core/programs/obstacles.hpp"

namespace muster::core::programs {

enum class program_alarm : std::uint8_t { deadline };
using program_alarms = alarms<program_alarm>;

struct rank {
  std::uint32_t group = 0;  // in spec->tasks
  std::uint32_t index = 0;
  host_number on{};
  core::incarnation process{};  // of its worker: outlives `on`
  std::uint16_t port = 0;
  bool alive = true;      // not known to be dead
  bool started = false;   // its worker has said so
  bool taken = false;     // its resources, of the worker's stream of now
  bool serves = false;    // nobody waits for its end
  bool well = false;      // it ended, with status 0
  bool restored = false;  // it may have started before this process of the server
  rank_view seen{};       // what readers are shown

  bool ended_well() const { return !alive && seen.state == rank_state::succeeded; }
  rank_fact fact(rank_name const& name) const {
    return {name,
            well,
            seen.state,
            seen.pid,
            seen.started,
            seen.ended,
            seen.exit_status,
            seen.signal,
            seen.not_started,
            seen.out_of_memory};
  }
};

struct attempt {
  std::shared_ptr<attempt_sheet const> sheet;
  std::vector<rank> ranks;
  std::vector<std::pair<std::string, std::uint16_t>> ports;  // beside the ranks': to give back
  std::uint32_t alive = 0, started = 0;
  bool says_steps = false;  // its ranks can be asked to end by a step
  /// It ends, and no rank was sent a signal for it: they end by themselves after a step.
  bool by_step = false;
  std::optional<coordination_failure> trouble{};  // the last that its service has told of
  std::optional<core::hang> hang{};               // while nothing moves
  program_attempt_view about{};
};

/// Where a rank of an earlier attempt ran: its log is there.
struct seat {
  core::incarnation process{};
  std::uint32_t group = 0;
  std::uint32_t index = 0;
};

/// An attempt that is over, and where its ranks ran; no seats: that is not known any more.
struct past_attempt {
  program_attempt_view about{};
  std::vector<seat> seats{};
  /// Of all past attempts of one program. More: those of the oldest attempts are forgotten.
  static constexpr std::size_t seats_max = 8'192;
};

/// When workers were last looked for.
struct room_found {
  std::uint32_t would_fit = 0;
  bool looked = false;  // else nothing below is known
  bool fits_when_idle = false;
  obstacle never{};           // where it does not fit when they are idle: why
  std::uint32_t workers = 0;  // that may take something new
  bool pauses = false;
  bool lacks_ports = false;
};

struct program {
  program_id id{};
  std::shared_ptr<program_spec const> spec;
  program_state state = program_state::pending;
  programs::goal goal = programs::goal::run;
  attempt now{};                      // the last, also after its end
  std::deque<past_attempt> before{};  // the newest last
  std::uint32_t attempts = 0;
  std::uint32_t counted_restarts = 0;
  std::uint32_t quick_ends = 0;                     // attempts in a row that ended soon
  std::map<std::string, std::uint32_t> failures{};  // by host, how often it failed the program
  std::optional<program_cause> cause{};
  /// Somebody has asked for it, and it holds for later attempts too: not before this step.
  std::optional<agreed_stop> stop_at{};
  time_point created{}, finished = never;
  time_point not_before{};          // the next attempt
  time_point deadline = never;      // when it is asked to end for it
  std::vector<stream_id> spares{};  // workers where a place is put by; see spares.hpp
  room_found room{};
  bool upload_there = false;  // its blob, which whoever submits has looked for

  bool lacks_upload() const { return !spec->upload.empty() && !upload_there; }
  bool waits() const {
    return state == program_state::pending ||
           (state == program_state::restarting && now.alive == 0);
  }
  /// How long ranks that are asked to end now may take: with a notice up to the deadline, however
  /// late it is given.
  duration grace_at(time_point now) const {
    if (goal == programs::goal::again) return spec->restart_grace;
    if (!noticed()) return spec->grace;
    return std::clamp(created + spec->deadline - now, duration{}, spec->notice);
  }
  bool noticed() const {
    return goal == programs::goal::fail && cause && cause->kind == cause_kind::deadline &&
           spec->notice > duration{};
  }
  /// When it is asked to end for its deadline.
  time_point asked_to_end() const {
    return spec->deadline == duration{} ? never : created + spec->deadline - spec->notice;
  }
};

/// Whether nobody waits for the end of this task.
bool serves(program_spec const& spec, std::string const& type, std::uint32_t index);

}  // namespace muster::core::programs
