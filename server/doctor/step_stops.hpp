// The step after which all ranks of an attempt stop: agreed on with their workers, so that it is
// the same for all of them.
//
//   begin ──► ranks wait at their next step ──► what each has reached ──► the step is told to all
//                     └── a worker is away, or silent for too long, or no rank says steps: all go
//                     on
//
// No rank waits for another one: the step is behind all that any has reached, so those that were
// ahead, and may be waited for by others, come to it as well.
//
// Owned by a hub; engine thread only. Limits: under_way_max, agreed_max.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "server/core/api/programs.hpp"

namespace muster::doctor {

struct hold_steps {
  std::uint64_t query = 0;
  core::program_id program{};
  std::uint32_t attempt = 0;
};

/// What a worker answers: the ranks that have said a step, and the last one.
struct steps_held {
  std::uint64_t query = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> ranks;
};

struct stop_after {
  core::program_id program{};
  std::uint32_t attempt = 0;
  std::optional<std::uint64_t> step{};  // none: there is no such step, who waits goes on
};

class step_stops {
 public:
  /// Agreements at one time. More: refused.
  static constexpr std::size_t under_way_max = 64;
  /// Programs of which it is remembered. More: the oldest is forgotten, and a worker of it that
  /// comes back is not told again.
  static constexpr std::size_t agreed_max = 1'024;
  static constexpr std::uint64_t step_max = std::uint64_t{1} << 53;
  /// A worker answers within milliseconds, or it is older than the question.
  static constexpr core::duration patience = std::chrono::seconds(3);

  struct functions {
    std::function<bool(core::stream_id, hold_steps const&)> hold;  // false: it is away
    std::function<void(core::stream_id, stop_after const&)> tell;
  };
  explicit step_stops(functions to) : to_(std::move(to)) {}

  using handler = std::function<void(muster::result<std::uint64_t>)>;
  /// `workers`: of all ranks that are alive. `least`: the step is not before it. `done` is called
  /// once, maybe from inside. Errors: FAILED_PRECONDITION, no rank says steps; UNAVAILABLE, a
  /// worker is away or does not answer; RESOURCE_EXHAUSTED.
  void begin(core::time_point now, core::program_id program, std::uint32_t attempt,
             std::uint64_t least, std::set<core::stream_id> const& workers, handler done);
  void answered(core::stream_id stream, steps_held const& what);
  void gone(core::stream_id stream);
  void tick(core::time_point now);
  core::time_point due() const;

  /// It was agreed on, maybe with an earlier process.
  void remember(core::program_id program, std::uint32_t attempt, std::uint64_t step);
  /// None: nothing is agreed on, for this attempt.
  std::optional<std::uint64_t> agreed(core::program_id program, std::uint32_t attempt) const;
  void forget(core::program_id program);

 private:
  struct round {
    std::uint32_t attempt = 0;
    std::uint64_t query = 0;
    std::uint64_t least = 0;
    core::time_point until{};
    std::set<core::stream_id> workers, waits;
    std::optional<std::uint64_t> reached{};
    std::vector<handler> done;
  };
  void end(core::program_id program, muster::status const& why);
  void settle(core::program_id program);

  functions const to_;
  std::map<core::program_id, round> rounds_;
  struct known {
    std::uint32_t attempt = 0;
    std::uint64_t step = 0, number = 0;
  };
  std::map<core::program_id, known> agreed_;
  std::uint64_t last_ = 0;
};

}  // namespace muster::doctor
