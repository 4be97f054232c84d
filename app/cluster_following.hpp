// Keeps clusters as their resolvers know them: asks at the start until there is an answer, then
// goes on asking, each resolver on a thread of its own, and hands what changes to the engine.
// Owned by the composition root. A failing resolver leaves the cluster as it was.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cluster_source.hpp"
#include "app/engine_assembly.hpp"
#include "base/status.hpp"
#include "muster/cluster_watch.hpp"
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
  /// REQUIRES: both outlive it.
  cluster_following(engine_assembly& engine, coordination_hub& hub);

  /// `found`: what the server has declared already.
  void start(std::vector<cluster_spec> const& found);
  /// Nothing is posted after it. Does not wait long for a resolver that hangs.
  void stop();

 private:
  void changed(cluster_source const& source, cluster_spec const& found);
  void warn(cluster_source const& source, std::string text);

  engine_assembly& engine_;
  coordination_hub& hub_;
  std::vector<std::unique_ptr<cluster_watch>> watches_;
};

}  // namespace muster::server
