// What was written down of the coordination core, summed up as a store does: the last word on each
// thing. Gives what a restart begins with, and a text to compare.
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
  /// A line a fact, without what may differ: times of barriers.
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

/// What is wrong with this sum of all that the core said: it is not what the core would say now, or
/// a core that begins with it is another. Empty: nothing.
std::string lost_at_restart(clusters const& all, fact_book book, limits const& l, time_point now);

}  // namespace muster::core::coordination
