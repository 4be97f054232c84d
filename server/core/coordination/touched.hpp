// The changed parts of a cluster that need records. Created for one step and used only on the
// engine thread.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "server/core/coordination/api/coordination_changes.hpp"

namespace muster::core::coordination {

class touched {
 public:
  /// REQUIRES: all changes starting with index `first` belong to this cluster.
  touched(changes const& step, std::size_t first) {
    step.each([this](cluster_id, auto const& what) { note(what); }, first);
    sort(tasks), sort(keys);
  }

  bool anew = false;
  bool declared = false;
  std::vector<task_index> tasks;  ///< sorted, without duplicates
  std::vector<std::string> keys;  ///< sorted, without duplicates
  std::vector<barrier_number> ended;
  std::vector<std::string> forgotten;

 private:
  template <class List>
  static void sort(List& all) {
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
  void note(generation_begun const&) { anew = true; }
  void note(cluster_declared const&) { declared = true; }
  void note(generation_changed const&) { declared = true; }
  void note(cause_found const&) { declared = true; }
  void note(victim_found const&) { declared = true; }
  void note(error_delivered const&) { declared = true; }
  void note(task_known const& c) { tasks.push_back(c.is.task); }
  void note(task_registered const& c) { tasks.push_back(c.task); }
  void note(task_failed const& c) { tasks.push_back(c.task); }
  void note(task_left const& c) { tasks.push_back(c.task); }
  void note(notice_changed const& c) {
    if ((c.from == notice_state::never) != (c.to == notice_state::never)) tasks.push_back(c.task);
  }
  void note(key_changed const& c) { keys.push_back(c.is.key); }
  void note(barrier_ended const& c) {
    if (c.counter >= 0) ended.push_back(c.barrier);
  }
  void note(barrier_forgotten const& c) { forgotten.push_back(c.id); }
  template <class Other>
  void note(Other const&) {}
};

}  // namespace muster::core::coordination
