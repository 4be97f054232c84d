// Follows clusters whose tasks come from resolvers. At startup, queries each resolver until it
// answers. If a resolver fails, its cluster remains unchanged. Owned by the composition root.
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

/// Returns the cluster to declare for a resolver's result: nonempty jobs, sorted by name. A job
/// with gaps is as large as its highest index requires. Returns INVALID_ARGUMENT with the field.
muster::result<core::coordination::cluster_spec> declared(cluster_source const& source,
                                                          cluster_spec const& found);

struct first_answers {
  std::vector<cluster_spec> found;
  std::vector<core::coordination::cluster_spec> declared;
  /// If set, this stop signal arrived first, and the answers are incomplete.
  std::optional<std::string> stopped_by;
};

/// Call this on the main thread, with stop signals blocked.
/// @throws start_error if an answer is malformed or does not arrive in time
first_answers ask_sources(std::vector<cluster_source> const& sources);

class cluster_following {
 public:
  /// @pre Both arguments outlive this object.
  cluster_following(engine_assembly& engine, coordination_hub& hub);

  /// @param found Clusters that the server has already declared.
  void start(std::vector<cluster_spec> const& found);
  /// Stops polling. Nothing is posted afterwards. If a resolver hangs, waits only briefly.
  void stop();

 private:
  void changed(cluster_source const& source, cluster_spec const& found);
  void warn(cluster_source const& source, std::string text);

  engine_assembly& engine_;
  coordination_hub& hub_;
  std::vector<std::unique_ptr<cluster_watch>> watches_;
};

}  // namespace muster::server
