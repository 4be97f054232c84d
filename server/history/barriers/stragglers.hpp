// Late arrivals at barriers, with task and host names. Used only on the engine thread.
#pragma once

#include "server/core/coordination/generation_views.hpp"
#include "server/history/barriers/lateness.hpp"

namespace muster::history {

/// Arrivals after the median at the newest barriers (at most 64) that all participants reached.
struct straggler_view {
  static constexpr std::size_t tasks_shown = 100;
  static constexpr std::size_t hosts_shown = 100;
  /// Number of worst tasks included in the sums by host.
  static constexpr std::size_t tasks_examined = 10'000;

  struct barrier {
    std::string id;
    std::int64_t counter = 0;
    time_point ended{};
    std::size_t participants = 0;
    std::string last;
    std::string host;
    duration late{};
    duration spread{};
  };
  struct task {
    std::string name;
    std::string host;
    std::uint32_t last = 0;
    std::uint32_t barriers = 0;
    duration late_mean{};  ///< mean delay; an arrival in time counts as 0
    duration late_max{};
  };
  struct host {
    std::string name;
    std::uint32_t tasks = 0;
    std::uint32_t last = 0;
    duration late_mean{};
    duration late_max{};
  };
  std::uint64_t generation = 0;
  std::vector<barrier> barriers;  ///< newest first
  std::vector<task> tasks;        ///< worst first; only tasks that were late at least once
  std::vector<host> hosts;        ///< worst first; only hosts that were late at least once
};

/// @param late null if no barrier has completed
/// @param now the generation of `late`
straggler_view stragglers(lateness const* late, coordination::generation_views const& now);

}  // namespace muster::history
