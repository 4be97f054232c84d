// The coordination clusters of programs: each program whose workers open tunnels has one that is
// called as its id, with the tasks that train, and a generation for each attempt. It stays to be
// looked at after the program's end.
//
// Of its failures the program hears, for the cause of its own.
//
//   attempt begins ──► declared, or renewed ──► ended: kept for a while ──► forgotten
//                                                  └─no agent ever came──────┘
//
// Where there is no room for one, the attempt goes on without: process 0 serves the others by
// itself, and an event says why. Owned by the composition root, told by the hubs; engine thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>

#include "server/core/api/attempt_record.hpp"
#include "server/core/api/program_views.hpp"
#include "server/core/api/ranks.hpp"
#include "server/doctor/hang_watch.hpp"
#include "server/hub/coordination_hub.hpp"

namespace muster::server {

struct program_clusters_limits {
  std::size_t clusters_max = 500;  // of programs. More: the next one goes on without
  std::size_t ended_max = 64;      // of programs that have ended. More: the oldest is forgotten
};

class program_clusters {
 public:
  struct dependencies {
    std::function<void(log_event const&)> tell;
    /// The cluster of this name is to be removed, later: not from inside.
    std::function<void(std::string name)> remove;
    /// The program is to hear of it, later: not from inside.
    std::function<void(core::coordination_failed)> failed = [](auto const&) {};
    /// For the record of the attempt: each failure there. Later: not from inside.
    std::function<void(core::program_id, std::uint32_t attempt, core::attempt_record::event)>
        noted = [](auto, auto, auto const&) {};
  };

  /// Stores of torch.distributed of those programs whose store the server has.
  struct torch_side {
    /// An attempt whose cluster this is begins with no keys; so many ranks will come.
    std::function<void(core::coordination::cluster_id, core::program_id, std::uint32_t ranks)>
        begin = [](auto, auto, auto) {};
    /// Its program is over. Harmless when it has none.
    std::function<void(core::coordination::cluster_id)> end = [](auto) {};
  };

  /// REQUIRES: the hub outlives it.
  program_clusters(coordination_hub& all, dependencies d, program_clusters_limits limits = {});
  program_clusters(program_clusters const&) = delete;
  ~program_clusters();

  /// Before all else.
  void keep_stores(torch_side s) { torch_ = std::move(s); }
  /// Before the ranks of the attempt are ordered; harmless when it has been told.
  void begin(core::attempt_sheet const& sheet);
  /// Follows the program's course: its cluster ends with it.
  void changed(core::program_changed const& c);
  /// Of an earlier process of the server, whose clusters are restored. `tunnels`: the last attempt
  /// had a cluster where there was room. REQUIRES: before all else of it; those that have ended in
  /// the order in which they did.
  void restored(core::program_id program, std::uint32_t attempt, bool tunnels, bool over);
  /// This attempt, the last one, has a cluster.
  bool serves(core::program_id program, std::uint32_t attempt) const;
  /// Of the barriers of this attempt, while no later one has begun.
  struct lateness {
    std::vector<core::attempt_record::meeting> barriers;
    std::vector<core::attempt_record::latecomer> latecomers;
  };
  /// Who came late to barriers of the attempt. `ranks`: of each of its tasks.
  lateness late(core::program_id program, std::uint32_t attempt,
                std::vector<std::uint32_t> const& ranks) const;
  /// A rank that is one of the cluster's tasks: nobody waits for the others at a barrier.
  static bool trains(core::rank_view const& r) {
    return !r.task.starts_with("ps:") && !r.task.starts_with("evaluator:");
  }
  /// The program's cluster; empty: it has none.
  std::string of(core::program_id program) const;
  /// Adds whether it has been used and the barriers that some wait at; nothing where it has none.
  /// `ranks`: of each of its tasks.
  void look(core::program_id program, std::vector<std::uint32_t> const& ranks,
            doctor::look& into) const;
  static constexpr std::size_t barriers_looked_at = 20;
  /// Called after each change of a program, when it has taken effect.
  void on_change(std::function<void(core::program_id)> listener) {
    listener_ = std::move(listener);
  }
  /// Those of an earlier process whose programs nobody knows are removed.
  void drop_unknown(std::function<bool(core::program_id)> const& known);

 private:
  struct served {
    std::uint32_t attempt = 0;
    bool has_cluster = false;
    bool has_begun = false;  // its generation; what is told before is of the attempt before
    bool failed = false;     // a task of it has, and what follows is no news
  };

  muster::status declare(core::attempt_sheet const& sheet);
  /// What its service tells: the first task that fails, and until then barriers that do.
  void fold(core::coordination::changes const& c);
  void tell(core::coordination::cluster_id of, core::coordination::task_index task,
            core::coordination::fault const& why);
  void note(core::coordination::cluster_id of, core::coordination::task_index task,
            core::attempt_event kind, core::coordination::fault const& why);
  /// Whose cluster it is; null: nobody's that is known.
  std::pair<core::program_id const, served>* served_by(core::coordination::cluster_id c);
  std::size_t count() const;
  void ended(core::program_id program);
  /// An agent has registered with it, of whichever attempt. REQUIRES: there is one.
  bool was_used(core::program_id program) const;
  void begin_store(core::attempt_sheet const& sheet);
  void end_store(core::program_id program);
  void forget(core::program_id program);

  coordination_hub& all_;
  dependencies const dependencies_;
  program_clusters_limits const limits_;
  torch_side torch_;
  std::map<core::program_id, served> programs_;  // those known to the hubs
  std::deque<core::program_id> ended_;           // the oldest first
  std::function<void(core::program_id)> listener_ = [](auto) {};
};

}  // namespace muster::server
