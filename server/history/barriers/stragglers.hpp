// Who comes late, for people: what lateness remembers, with the names and hosts that the core
// knows. Engine thread only.
#pragma once

#include "server/core/coordination/generation_views.hpp"
#include "server/history/barriers/lateness.hpp"

namespace muster::history {

/// Who comes late to the barriers of a run.
/// Of the newest barriers of this generation that everybody came to, 64 at most. Late means: after
/// half of the participants were there.
struct straggler_view {
  static constexpr std::size_t tasks_shown = 100;
  static constexpr std::size_t hosts_shown = 100;
  /// Hosts are added up over the worst tasks of so many; more than this have others.
  static constexpr std::size_t tasks_looked_at = 10'000;

  struct barrier {
    std::string id;
    std::int64_t counter = 0;
    time_point ended{};
    std::size_t participants = 0;
    std::string last;  ///< the task that came last, and its host
    std::string host;
    duration late{};    ///< by which the last one came after the median
    duration spread{};  ///< from the first to the last
  };
  struct task {
    std::string name;
    std::string host;
    std::uint32_t last = 0;      ///< how often it was the last
    std::uint32_t barriers = 0;  ///< that it took part in
    duration late_mean{};        ///< over all of them; 0 where it was in time
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
  std::vector<task> tasks;        ///< worst first; only those that were late once
  std::vector<host> hosts;        ///< the same
};

/// `late`: null when nobody has met. `now`: its generation, as the core knows it.
straggler_view stragglers(lateness const* late, coordination::generation_views const& now);

}  // namespace muster::history
