// A model of the coordination core built from its changes. Tests compare it with the core after
// every step, so a missing change fails a test.
#pragma once

#include <map>
#include <set>
#include <string>

#include "server/core/coordination/clusters.hpp"

namespace muster::core::coordination {

class changes_model {
 public:
  void fold(changes const& all) {
    all.each([this](cluster_id id, auto const& one) { this->fold(id, one); });
  }
  /// Returns a description of the first difference, or an empty string.
  std::string difference(class clusters const& core) const;

 private:
  struct task {
    task_fact is;
    std::optional<core::incarnation> registering;
    std::string peer;
    std::size_t devices = 0;
    notice_state notices = notice_state::never;

    bool operator==(task const&) const = default;
  };
  struct barrier {
    std::string id;
    std::int64_t counter = 0;
    barrier_purpose purpose{};
    participants who;
    bool running = true;
    task_index first = no_task;
    time_point started{};
    time_point waiting_since{};
    time_point deadline{};
    time_point ended{};
    fault_ptr result;
    std::size_t arrived = 0;
    std::map<task_index, time_point> there;
    std::set<task_index> gave_up;

    bool operator==(barrier const&) const = default;
  };
  struct generation {
    std::uint64_t number = 0;
    core::incarnation incarnation{};
    time_point started{};
    time_point ended{};
    bool failed = false;
    bool refuses = false;
    std::optional<first_cause> cause;
    task_index cause_task = no_task;
    std::set<task_index> victims;
    fault_ptr told;

    bool operator==(generation const&) const = default;
  };
  struct cluster {
    cluster_spec spec;
    std::optional<cluster_spec> next;
    generation current;
    std::map<task_index, task> tasks;
    std::map<barrier_number, barrier> barriers;
    std::map<std::string, key_fact> keys;
  };

  void fold(cluster_id id, cluster_declared const& c);
  void fold(cluster_id id, cluster_removed const&);
  void fold(cluster_id id, generation_begun const& c);
  void fold(cluster_id id, generation_changed const& c);
  void fold(cluster_id id, cause_found const& c);
  void fold(cluster_id id, victim_found const& c);
  void fold(cluster_id id, error_delivered const& c);
  void fold(cluster_id id, task_known const& c) { clusters_.at(id).tasks.at(c.is.task).is = c.is; }
  void fold(cluster_id id, task_waits const& c);
  void fold(cluster_id id, task_registered const& c);
  void fold(cluster_id id, task_failed const& c);
  void fold(cluster_id id, task_left const& c);
  void fold(cluster_id id, task_addressed const& c);
  void fold(cluster_id id, devices_brought const& c);
  void fold(cluster_id id, notice_changed const& c);
  void fold(cluster_id id, barrier_begun const& c);
  void fold(cluster_id id, barrier_moved const& c);
  void fold(cluster_id id, barrier_due const& c);
  void fold(cluster_id id, barrier_ended const& c);
  void fold(cluster_id id, barrier_forgotten const& c);
  void fold(cluster_id id, key_changed const& c);
  barrier& running(cluster_id id, barrier_number n);
  static void fold(cluster_id, rich_at) {}  // `each` passes the change behind it
  static std::string difference(cluster const& told, cluster const& is);

  std::map<cluster_id, cluster> clusters_;
};

}  // namespace muster::core::coordination
