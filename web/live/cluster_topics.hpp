// What the topics on clusters show: copied on the engine thread in steps, made into rows on the web
// thread. Only what somebody watches is copied.
#pragma once

#include "server/hub/access/cluster_scope.hpp"
#include "web/engine/engine_link.hpp"
#include "web/live/agents_topic.hpp"
#include "web/live/rows_topic.hpp"

namespace muster::web {

/// The topics that somebody watches.
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
  std::string ages;  // of the agents' heartbeats, as JSON
  core::time_point now{};
};

// More of each is counted, not shown.
inline constexpr std::size_t clusters_shown = 100;
inline constexpr std::size_t agents_shown = 10'000;
inline constexpr std::size_t barriers_shown = 100;         // of a cluster
inline constexpr std::size_t barriers_shown_in_full = 10;  // of a cluster: with names
inline constexpr std::size_t missing_shown = 50;           // of a barrier
inline constexpr std::size_t events_shown = 300;
/// What comes and goes with each step of a training is not worth a row.
inline constexpr core::duration wait_is_news = std::chrono::seconds(2);

/// Engine thread: it goes on, and is of a program that ends, or has ended, so that its tasks do not
/// come back.
bool ends(server::pools& all, core::coordination::cluster_view const& c);

coro::task<muster::result<cluster_rows>> collect_clusters(engine_link& engine, topics_asked asked,
                                                          server::shared_scope scope);

}  // namespace muster::web
