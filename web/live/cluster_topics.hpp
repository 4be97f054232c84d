// The data of the topics about clusters. It is copied in steps on the engine thread and converted
// to rows on the web thread. Only topics with subscribers are copied.
#pragma once

#include "server/hub/access/cluster_scope.hpp"
#include "web/engine/engine_link.hpp"
#include "web/live/agents_topic.hpp"
#include "web/live/rows_topic.hpp"

namespace muster::web {

struct topics_asked {
  bool clusters = false, agents = false, barriers = false, events = false;
  bool any() const { return clusters || agents || barriers || events; }
};

struct topic_rows {
  named_rows rows;
  std::size_t more = 0;
};

struct cluster_rows {
  topic_rows clusters, barriers, events;
  std::vector<agent_row> agents;
  std::size_t more_agents = 0;
  std::string ages;
  core::time_point now{};
};

// Rows beyond the following limits are only counted.
inline constexpr std::size_t clusters_shown = 100;
inline constexpr std::size_t agents_shown = 10'000;
inline constexpr std::size_t barriers_shown = 100;  // maximum per cluster
// Maximum number of barriers per cluster that are shown with task names.
inline constexpr std::size_t barriers_shown_in_full = 10;
inline constexpr std::size_t missing_shown = 50;  // maximum per barrier
inline constexpr std::size_t events_shown = 300;
/// Minimum duration of a wait that is shown. Shorter waits are hidden, because they start and end
/// with every training step.
inline constexpr core::duration shortest_shown_wait = std::chrono::seconds(2);

/// Returns whether the cluster's program is ending or has ended, so that its tasks will not return.
/// Runs on the engine thread.
bool ends(server::pools& all, core::coordination::cluster_view const& c);

coro::task<muster::result<cluster_rows>> collect_clusters(engine_link& engine, topics_asked asked,
                                                          server::shared_scope scope);

}  // namespace muster::web
