// Coordination clusters of programs. Each program whose workers open tunnels has a cluster, which
// is named after the program's ID and contains its training tasks. Each attempt is one generation.
// The cluster's failures are reported to the program as possible causes of the program's failure.
// States:
//
//   attempt begins ──► declared, or renewed ──► ended: kept for a while ──► forgotten
//                                                  └─no agent registered────┘
//
// At the limit, an attempt runs without a cluster: process 0 coordinates the other processes, and
// an event gives the reason. Owned by the composition root and called by the hubs on the engine
// thread.
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
  std::size_t clusters_max = 500;  // programs above this limit run without a cluster
  std::size_t ended_max = 64;      // at the limit, the oldest ended program is removed
};

class program_clusters {
 public:
  struct dependencies {
    std::function<void(log_event const&)> tell;
    /// This function and the next two act later, not within the call.
    std::function<void(std::string name)> remove;
    std::function<void(core::coordination_failed)> failed = [](auto const&) {};
    /// Adds a failure to the attempt's record.
    std::function<void(core::program_id, std::uint32_t attempt, core::attempt_record::event)>
        noted = [](auto, auto, auto const&) {};
  };

  /// Functions for the TCPStores that the server provides for programs.
  struct store_hooks {
    std::function<void(core::coordination::cluster_id, core::program_id, std::uint32_t ranks)>
        begin = [](auto, auto, auto) {};
    std::function<void(core::coordination::cluster_id)> end = [](auto) {};
  };

  program_clusters(coordination_hub& all, dependencies d, program_clusters_limits limits = {});
  program_clusters(program_clusters const&) = delete;
  ~program_clusters();

  /// Must be called before any other function.
  void set_store_hooks(store_hooks s) { torch_ = std::move(s); }
  /// Must be called before the attempt's ranks start. Repeated calls are ignored.
  void begin(core::attempt_sheet const& sheet);
  void changed(core::program_changed const& c);
  /// Restores a program whose clusters have been restored. If `tunnels` is set, the last attempt
  /// had a cluster unless the limit was reached. REQUIRES: this is the first call for the program,
  /// and finished programs are restored in the order in which they ended.
  void restored(core::program_id program, std::uint32_t attempt, bool tunnels, bool over);
  /// Returns whether this attempt is the program's last and has a cluster.
  bool serves(core::program_id program, std::uint32_t attempt) const;
  /// Lateness at an attempt's barriers, until the next attempt begins.
  struct lateness {
    std::vector<core::attempt_record::meeting> barriers;
    std::vector<core::attempt_record::late_task> latecomers;
  };
  /// `ranks` contains the rank of each task.
  lateness late(core::program_id program, std::uint32_t attempt,
                std::vector<std::uint32_t> const& ranks) const;
  /// Returns whether the rank is a task of the cluster. Other ranks do not use barriers.
  static bool trains(core::rank_view const& r) {
    return !r.task.starts_with("ps:") && !r.task.starts_with("evaluator:");
  }
  /// Returns an empty string if the program has no cluster.
  std::string of(core::program_id program) const;
  /// Adds the cluster's activity and pending barriers. `ranks` contains the rank of each task.
  void inspect(core::program_id program, std::vector<std::uint32_t> const& ranks,
               doctor::look& into) const;
  static constexpr std::size_t barriers_examined = 20;
  /// The listener is called after a program's change has taken effect.
  void on_change(std::function<void(core::program_id)> listener) {
    listener_ = std::move(listener);
  }
  void drop_unknown(std::function<bool(core::program_id)> const& known);

 private:
  struct served {
    std::uint32_t attempt = 0;
    bool has_cluster = false;
    // Whether the attempt's generation has begun. Earlier reports concern the previous attempt.
    bool has_begun = false;
    bool failed = false;  // whether a task has failed; later failures are consequences
  };

  muster::status declare(core::attempt_sheet const& sheet);
  /// Processes a task's first failure, and the barrier failures before it.
  void fold(core::coordination::changes const& c);
  void tell(core::coordination::cluster_id of, core::coordination::task_index task,
            core::coordination::fault const& why);
  void note(core::coordination::cluster_id of, core::coordination::task_index task,
            core::attempt_event kind, core::coordination::fault const& why);
  /// Returns null if the cluster does not belong to a program.
  std::pair<core::program_id const, served>* served_by(core::coordination::cluster_id c);
  std::size_t count() const;
  void ended(core::program_id program);
  /// Returns whether an agent has ever registered. REQUIRES: the cluster exists.
  bool was_used(core::program_id program) const;
  void begin_store(core::attempt_sheet const& sheet);
  void end_store(core::program_id program);
  void forget(core::program_id program);

  coordination_hub& all_;
  dependencies const dependencies_;
  program_clusters_limits const limits_;
  store_hooks torch_;
  std::map<core::program_id, served> programs_;
  std::deque<core::program_id> ended_;  // oldest first
  std::function<void(core::program_id)> listener_ = [](auto) {};
};

}  // namespace muster::server
