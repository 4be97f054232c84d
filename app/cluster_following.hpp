// Keeps clusters as their resolvers know them: asks at the start until there is an answer, then
// goes on asking, each resolver on a thread of its own, and hands what changes to the engine.
// Owned by the composition root. A failing resolver leaves the cluster as it was.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "muster/cluster_watch.hpp"
#include "app/cluster_source.hpp"
#include "server/hub/coordination_hub.hpp"

namespace muster::server {

/// What the server declares for what was found: jobs in order of their names; one with gaps is as
/// large as its highest index demands, one without tasks is left out. INVALID_ARGUMENT names the
/// field.
muster::result<core::coordination::cluster_spec> declared(cluster_source const& source,
                                                          cluster_spec const& found);

/// What the sources have answered at the start, in their order.
struct first_answers {
  std::vector<cluster_spec> found;
  std::vector<core::coordination::cluster_spec> declared;
  /// Set: a stop signal came first, and the rest is incomplete.
  std::optional<std::string> stopped_by;
};

/// Main thread, with stop signals held back. Logs why it waits. start_error: an answer that is
/// malformed, or none in time.
first_answers ask_sources(std::vector<cluster_source> const& sources);

class cluster_following {
 public:
  struct environment {
    /// Any thread: runs the work on the engine thread, unless that has ended.
    std::function<void(std::function<void()>)> post;
    /// Engine thread.
    std::function<void(notice const&)> tell;
  };

  /// REQUIRES: sources and hub outlive it.
  cluster_following(std::vector<cluster_source> const& sources, coordination_hub& hub,
                    environment e);

  /// `found`: what the server has declared already.
  void start(std::vector<cluster_spec> const& found);
  /// Nothing is posted after it. Does not wait long for a resolver that hangs.
  void stop();

 private:
  void changed(cluster_source const& source, cluster_spec const& found);
  void warn(cluster_source const& source, std::string text);

  std::vector<cluster_source> const& sources_;
  coordination_hub& hub_;
  environment environment_;
  std::vector<std::unique_ptr<cluster_watch>> watches_;
};

}  // namespace muster::server
