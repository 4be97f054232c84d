// The last fact of each key, as in a store: the state that a restart begins with.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "server/core/coordination/api/coordination_facts.hpp"
#include "server/core/coordination/api/coordination_limits.hpp"

namespace muster::core::coordination {

class clusters;

class fact_book {
 public:
  void add(std::vector<fact> const& facts);
  std::vector<restored_cluster> clusters() const;
  void forget_barrier(std::string const& cluster, std::string const& id) {
    clusters_[cluster].barriers.erase(id);
  }
  /// Returns one line per fact, without values that can differ, such as times of barriers.
  std::string text() const;

 private:
  struct entry {
    cluster_fact cluster;
    std::map<task_index, task_fact> tasks;
    std::map<std::string, key_fact> keys;
    std::map<std::string, barrier_fact> barriers;
  };
  std::map<std::string, entry> clusters_;
};

/// Returns how the stored facts, or a core restored from them, differ from `all`, or an empty
/// string.
std::string lost_at_restart(clusters const& all, fact_book book, limits const& l, time_point now);

}  // namespace muster::core::coordination
