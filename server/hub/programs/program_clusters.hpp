// The coordination clusters of programs. Each program whose workers open tunnels has a cluster
// named after its id, with the training tasks, and one generation per attempt. The cluster can be
// inspected after the program has ended. Failures in it are reported to the program, as possible
// causes of its own failure.
//
//   attempt begins ──► declared, or renewed ──► ended: kept for a while ──► forgotten
//                                                  └─no agent registered────┘
//
// At the limit of clusters an attempt runs without one: process 0 coordinates the others, and an
// event gives the reason. Owned by the composition root, called by the hubs; engine thread.
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
  std::size_t clusters_max = 500;  // beyond this, programs run without a cluster
  std::size_t ended_max = 64;      // beyond this, the oldest is removed
};

class program_clusters {
 public:
  struct dependencies {
    std::function<void(log_event const&)> tell;
    /// Removes the cluster of this name. This and the next two functions act later, not within the
    /// call.
    std::function<void(std::string name)> remove;
    /// Reports a failure to the program.
    std::function<void(core::coordination_failed)> failed = [](auto const&) {};
    /// Adds a failure to the record of the attempt.
    std::function<void(core::program_id, std::uint32_t attempt, core::attempt_record::event)>
        noted = [](auto, auto, auto const&) {};
  };

  /// The TCPStores that the server provides for programs.
  struct store_hooks {
    /// Begins an empty store for an attempt with this cluster and number of ranks.
    std::function<void(core::coordination::cluster_id, core::program_id, std::uint32_t ranks)>
        begin = [](auto, auto, auto) {};
    /// Ends the store of a finished program. Does nothing if there is none.
    std::function<void(core::coordination::cluster_id)> end = [](auto) {};
  };

  /// REQUIRES: the hub outlives the object.
  program_clusters(coordination_hub& all, dependencies d, program_clusters_limits limits = {});
  program_clusters(program_clusters const&) = delete;
  ~program_clusters();

  /// Sets the store functions. Call it before anything else.
  void set_store_hooks(store_hooks s) { torch_ = std::move(s); }
  /// Begins an attempt. Call it before its ranks are started. Repeated calls are ignored.
  void begin(core::attempt_sheet const& sheet);
  /// Ends the cluster when the program ends.
  void changed(core::program_changed const& c);
  /// Restores a program from an earlier server process, whose clusters are restored. `tunnels`: the
  /// last attempt had a cluster, unless the limit was reached. REQUIRES: the first call for the
  /// program; finished programs in the order of their end.
  void restored(core::program_id program, std::uint32_t attempt, bool tunnels, bool over);
  /// Returns whether this attempt is the program's last and has a cluster.
  bool serves(core::program_id program, std::uint32_t attempt) const;
  /// Lateness at the barriers of an attempt, until the next attempt begins.
  struct lateness {
    std::vector<core::attempt_record::meeting> barriers;
    std::vector<core::attempt_record::late_task> latecomers;
  };
  /// Returns which tasks were late at barriers of the attempt. `ranks`: the rank of each task.
  lateness late(core::program_id program, std::uint32_t attempt,
                std::vector<std::uint32_t> const& ranks) const;
  /// Returns whether a rank is a task of the cluster. Other ranks take no part in barriers.
  static bool trains(core::rank_view const& r) {
    return !r.task.starts_with("ps:") && !r.task.starts_with("evaluator:");
  }
  /// Returns an empty string if the program has no cluster.
  std::string of(core::program_id program) const;
  /// Adds the activity of the cluster and its pending barriers; nothing if there is no cluster.
  /// `ranks`: the rank of each task.
  void inspect(core::program_id program, std::vector<std::uint32_t> const& ranks,
               doctor::look& into) const;
  static constexpr std::size_t barriers_examined = 20;
  /// Sets a listener, which is called after each change of a program has taken effect.
  void on_change(std::function<void(core::program_id)> listener) {
    listener_ = std::move(listener);
  }
  /// Removes the clusters of unknown programs.
  void drop_unknown(std::function<bool(core::program_id)> const& known);

 private:
  struct served {
    std::uint32_t attempt = 0;
    bool has_cluster = false;
    // Whether its generation has begun; earlier reports concern the previous attempt.
    bool has_begun = false;
    bool failed = false;  // a task has failed; later failures are consequences
  };

  muster::status declare(core::attempt_sheet const& sheet);
  /// Processes changes of the service: the first failure of a task, and failures of barriers before
  /// it.
  void fold(core::coordination::changes const& c);
  void tell(core::coordination::cluster_id of, core::coordination::task_index task,
            core::coordination::fault const& why);
  void note(core::coordination::cluster_id of, core::coordination::task_index task,
            core::attempt_event kind, core::coordination::fault const& why);
  /// Returns the program of a cluster; null if there is none.
  std::pair<core::program_id const, served>* served_by(core::coordination::cluster_id c);
  std::size_t count() const;
  void ended(core::program_id program);
  /// Returns whether an agent has registered, in any attempt. REQUIRES: the cluster exists.
  bool was_used(core::program_id program) const;
  void begin_store(core::attempt_sheet const& sheet);
  void end_store(core::program_id program);
  void forget(core::program_id program);

  coordination_hub& all_;
  dependencies const dependencies_;
  program_clusters_limits const limits_;
  store_hooks torch_;
  std::map<core::program_id, served> programs_;  // programs known to the hubs
  std::deque<core::program_id> ended_;           // oldest first
  std::function<void(core::program_id)> listener_ = [](auto) {};
};

}  // namespace muster::server
