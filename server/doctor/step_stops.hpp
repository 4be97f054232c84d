// Agrees with workers on the step at which all ranks of an attempt stop. Sequence:
//
//   begin ──► ranks wait at their next step ──► workers report the steps ──► all get the final step
//
// If a worker is disconnected or silent, or no rank reports steps, the ranks continue. The final
// step is later than any step reached so far, so no rank can block another rank. Owned by a hub;
// used only on the engine thread.
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

struct steps_held {
  std::uint64_t query = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> ranks;
};

struct stop_after {
  core::program_id program{};
  std::uint32_t attempt = 0;
  // Empty if there is no agreement; waiting ranks then continue.
  std::optional<std::uint64_t> step{};
};

class step_stops {
 public:
  /// Maximum number of concurrent agreements. Further agreements are refused.
  static constexpr std::size_t under_way_max = 64;
  /// Maximum number of remembered agreements. At the limit, the oldest agreement is dropped, and a
  /// worker that reconnects is not informed of it.
  static constexpr std::size_t agreed_max = 1'024;
  static constexpr std::uint64_t step_max = std::uint64_t{1} << 53;
  /// Time limit for workers to answer. Answers normally take milliseconds, but older workers never
  /// answer.
  static constexpr core::duration patience = std::chrono::seconds(3);

  struct functions {
    // Returns false if the worker is disconnected.
    std::function<bool(core::stream_id, hold_steps const&)> hold;
    std::function<void(core::stream_id, stop_after const&)> tell;
  };
  explicit step_stops(functions to) : to_(std::move(to)) {}

  using handler = std::function<void(muster::result<std::uint64_t>)>;
  /// Starts an agreement.
  /// @param least earliest step to stop at
  /// @param workers workers of all live ranks
  /// @param done called once, possibly before `begin` returns, with FAILED_PRECONDITION if no rank
  ///   reports steps, UNAVAILABLE if a worker is disconnected or silent, or RESOURCE_EXHAUSTED at
  ///   the limit
  void begin(core::time_point now, core::program_id program, std::uint32_t attempt,
             std::uint64_t least, std::set<core::stream_id> const& workers, handler done);
  void answered(core::stream_id stream, steps_held const& what);
  void on_worker_lost(core::stream_id stream);
  void tick(core::time_point now);
  core::time_point due() const;

  void remember(core::program_id program, std::uint32_t attempt, std::uint64_t step);
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
