// Where kept values are when they are not just in the record of their closure: on their way to the
// shell's disk, there, being read back, or gone. Owned by the coordinator's state.
//
//             write              written                  read
//   memory ─────────► writing ─────────► disk ───────────────────► whoever asked for it
//     ▲                  │ failed          │                       (the value stays on the disk)
//     └──────────────────┘                 └── cannot be read: gone
//
// A value that is released while it is read back is still handed to those who asked before.
// Limits: as many entries as closures keep values; ids in the queues that are none of theirs any
// more are swept out when a queue has doubled.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "server/core/closure_table.hpp"

namespace muster::core {

/// Ids in the order in which they came; some may name values that are elsewhere by now.
class id_queue {
 public:
  void push(closure_id id) { ids_.push_back(id); }
  void push_front(closure_id id) { ids_.push_front(id); }
  /// The oldest that is `wanted`, or none; those before it are forgotten.
  template <class Wanted>
  closure_id front(Wanted wanted) {
    while (!ids_.empty() && !wanted(ids_.front())) ids_.pop_front();
    return ids_.empty() ? closure_id{} : ids_.front();
  }
  void pop() { ids_.pop_front(); }
  template <class Wanted>
  void sweep_if_long(Wanted wanted) {
    if (ids_.size() < sweep_at_) return;
    std::erase_if(ids_, [&](closure_id id) { return !wanted(id); });
    sweep_at_ = std::max<std::size_t>(1'024, ids_.size() * 2);
  }
  std::size_t size() const { return ids_.size(); }

 private:
  std::deque<closure_id> ids_;
  std::size_t sweep_at_ = 1'024;
};

/// An ended input whose dependents have not been told; told at the end of the step, one after the
/// other, so that a chain of them does not nest.
struct ended_input {
  closure_id id{};
  bool ok = true;
  blob value;
  std::string why;  // !ok
  std::vector<closure_id> dependents;
};

struct value_ledger {
  /// Values that are read back at one time, others wait for their turn.
  static constexpr std::size_t reads_max = 64;

  struct reading {
    std::uint64_t bytes = 0;
    std::vector<closure_id> dependents;  // closures that need it as an input
    session_id repeat{};                 // its client waits for the outcome again
    std::uint64_t token = 0;             // of that
    bool sent = false;                   // to the shell
    bool orphan = false;                 // released meanwhile
  };

  /// A closure that runs again since its value was lost; see coordinator_lineage.cpp.
  struct rebuilding {
    closure_id by{};  // the closure that does it
    std::uint32_t depth = 0;
    std::vector<closure_id> dependents;
  };

  std::unordered_map<closure_id, std::uint64_t> away;  // bytes of values in writing or on disk
  std::unordered_map<closure_id, release_note> gone;
  std::map<closure_id, reading> reads;
  std::deque<closure_id> reads_waiting;  // not sent yet
  std::size_t reads_sent = 0;
  id_queue in_memory;  // that may be written, oldest first
  id_queue on_disk;
  std::uint64_t writing_bytes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t on_disk_count = 0;
  time_point retry_at{};  // after a write that failed: none before

  std::map<closure_id, rebuilding> rebuilds;               // by the closure whose value was lost
  std::unordered_map<closure_id, std::uint32_t> runs;      // again; of closures that have a record
  std::vector<std::pair<closure_id, std::string>> doomed;  // in this step: runs without an input
  std::uint32_t rebuild_depth = 0;                         // while one is equipped
  std::uint64_t runs_total = 0;
  id_queue with_arguments;  // ended closures whose arguments are kept, oldest first
  std::uint64_t arguments_bytes = 0;
};

}  // namespace muster::core
