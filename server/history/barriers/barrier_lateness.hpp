// Late arrivals at barriers in each cluster's current generation. Not stored on disk.
//
// Owned by the coordination hub; used only on the engine thread. Limits: the limits of `lateness`,
// and one entry per running barrier (limits::barriers_max per cluster).
#pragma once

#include <memory>
#include <unordered_map>

#include "server/history/barriers/lateness.hpp"

namespace muster::history {

class barrier_lateness {
 public:
  void fold(coordination::changes const& c);

  /// Returns null if no barrier has completed in this generation.
  lateness const* of(coordination::cluster_id c) const {
    auto const it = clusters_.find(c);
    return it == clusters_.end() ? nullptr : &it->second.late;
  }

 private:
  struct running {
    coordination::barrier_instance which;
    std::shared_ptr<coordination::participants const> who;
  };
  struct of_generation {
    std::unordered_map<coordination::barrier_number, running>
        barriers;  // only barriers of user code
    lateness late;
  };

  void end(coordination::cluster_id c, coordination::barrier_ended const& e);

  std::unordered_map<coordination::cluster_id, of_generation> clusters_;
};

}  // namespace muster::history
