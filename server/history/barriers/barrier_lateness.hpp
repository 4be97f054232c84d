// Who comes late to barriers, for each cluster: a listener that folds the changes of the
// coordination core. It belongs to a generation, as the next may have other tasks and hosts, and an
// earlier process of the server leaves nothing of it.
//
// Owned by the coordination hub; engine thread only. Limits: those of lateness, and a line for each
// barrier that runs (limits::barriers_max of each cluster).
#pragma once

#include <memory>
#include <unordered_map>

#include "server/history/barriers/lateness.hpp"

namespace muster::history {

class barrier_lateness {
 public:
  void fold(coordination::changes const& c);

  /// Null: nobody has met there in this generation.
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
    std::unordered_map<coordination::barrier_number, running> barriers;  // of users
    lateness late;
  };

  void end(coordination::cluster_id c, coordination::barrier_ended const& e);

  std::unordered_map<coordination::cluster_id, of_generation> clusters_;
};

}  // namespace muster::history
