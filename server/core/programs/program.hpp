// State of a program: its attempts, ranks and placement. Owned by the controller.
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

enum class program_alarm : std::uint8_t {
  deadline,
  lost_worker,  // whether a worker that was disconnected when a rank failed has returned
};
using program_alarms = alarms<program_alarm>;

struct rank {
  std::uint32_t group = 0;  // index into spec->tasks
  std::uint32_t index = 0;
  host_number on{};
  core::incarnation process{};  // incarnation of the worker; remains valid when `on` no longer is
  std::uint16_t port = 0;
  bool alive = true;      // false once the rank is known to be dead
  bool started = false;   // whether the worker has reported the start
  bool taken = false;     // whether resources are reserved on the worker's current stream
  bool serves = false;    // whether the program ends without waiting for this rank
  bool well = false;      // whether the rank ended with status 0
  bool restored = false;  // whether the rank may have started before this server process
  rank_view seen{};

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
  std::vector<std::pair<std::string, std::uint16_t>> ports;
  std::uint32_t alive = 0, started = 0;
  bool supports_step_stop = false;  // whether the ranks can be asked to end after a step
  /// Whether the ranks were asked to end after a step, without a signal.
  bool by_step = false;
  std::optional<coordination_failure> trouble{};
  /// When a rank failed while the worker of another rank was disconnected; `never` otherwise.
  time_point failed_without_worker = never;
  std::optional<core::hang> hang{};
  program_attempt_view about{};
};

/// The place where a rank of an earlier attempt ran and left its log.
struct seat {
  core::incarnation process{};
  std::uint32_t group = 0;
  std::uint32_t index = 0;
};

/// An earlier attempt. `seats` is empty if the places are no longer known.
struct ended_attempt {
  program_attempt_view about{};
  std::vector<seat> seats{};
  /// Maximum seats of a program's earlier attempts. Above this limit, the oldest seats are dropped.
  static constexpr std::size_t seats_max = 8'192;
};

struct placement_search_result {
  std::uint32_t would_fit = 0;
  bool looked = false;  // if false, the following members are not set
  bool fits_when_idle = false;
  obstacle never{};  // why the program does not fit on idle workers
  std::uint32_t workers = 0;
  bool pauses = false;
  bool lacks_ports = false;
};

struct program {
  program_id id{};
  std::shared_ptr<program_spec const> spec;
  program_state state = program_state::pending;
  programs::goal goal = programs::goal::run;
  attempt now{};                       // the last attempt, even after its end
  std::deque<ended_attempt> before{};  // oldest first
  std::uint32_t attempts = 0;
  std::uint32_t counted_restarts = 0;
  std::uint32_t quick_ends = 0;  // consecutive attempts that ended quickly
  std::map<std::string, std::uint32_t> failures{};
  std::optional<program_cause> cause{};
  /// Step before which the ranks must not stop. The step also applies to later attempts.
  std::optional<agreed_stop> stop_at{};
  time_point created{}, finished = never;
  time_point not_before{};          // earliest start of the next attempt
  time_point deadline = never;      // when the program is asked to end
  std::vector<stream_id> spares{};  // workers with reserved places
  placement_search_result room{};
  bool upload_there = false;

  bool lacks_upload() const { return !spec->upload.empty() && !upload_there; }
  bool waits() const {
    return state == program_state::pending ||
           (state == program_state::restarting && now.alive == 0);
  }
  /// Returns the grace period of ranks that are asked to end now. With a notice, the grace period
  /// lasts until the deadline.
  duration grace_at(time_point now) const {
    if (goal == programs::goal::again) return spec->restart_grace;
    if (!noticed()) return spec->grace;
    return std::clamp(created + spec->deadline - now, duration{}, spec->notice);
  }
  bool noticed() const {
    return goal == programs::goal::fail && cause && cause->kind == cause_kind::deadline &&
           spec->notice > duration{};
  }
  /// Returns `never` if the program has no deadline.
  time_point asked_to_end() const {
    return spec->deadline == duration{} ? never : created + spec->deadline - spec->notice;
  }
};

/// Returns whether the program does not wait for the end of this task.
bool serves(program_spec const& spec, std::string const& type, std::uint32_t index);

}  // namespace muster::core::programs
