// State changes in a step, with their reasons. Readers have no other source. A reader that applies
// all changes has the state of all clusters (see tests/coordination/changes_model.hpp). Changes
// omit heartbeats, and omit waiting calls except at barriers.
//
// Changes are in chronological order and valid until the next step. A generation can end, and the
// next begin, within a step; changes after `generation_begun` belong to the new generation.
// Frequent changes contain only numbers and are stored in the list; other changes are stored in
// `rich`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/coordination/api/coordination_facts.hpp"
#include "server/core/coordination/api/coordination_incidents.hpp"

namespace muster::core::coordination {

using muster::name;

enum class cluster_id : std::uint32_t {};  ///< valid until the server exits; 0 means no cluster

enum class declared_why : std::uint8_t {
  known,  ///< restored from an earlier server process, or reported by whole()
  created,
  redeclared,
  in_force,  ///< declared earlier; in force from this generation on
};

struct cluster_declared {
  std::shared_ptr<cluster_spec const> spec;
  std::shared_ptr<cluster_spec const> next;
  declared_why why{};
};

struct cluster_removed {};

enum class begun_why : std::uint8_t { known, created, redeclared, renewed };

/// Discards all earlier changes of the cluster's tasks and barriers, and of its keys unless
/// `keeps_keys` is set.
struct generation_begun {
  std::uint64_t number = 0;
  core::incarnation incarnation{};
  begun_why why{};
  bool keeps_keys = false;
};

enum class generation_why : std::uint8_t {
  known,
  first_registration,
  goes_on,
  all_left,
  task_failed,
  registration_failed,
  shutdown_failed,
  given_up,
  stopped,  ///< stopped because the server or cluster stops, or because the next generation starts
};

struct generation_changed {
  time_point started{};
  time_point ended{};
  bool failed = false;
  bool refuses = false;
  generation_why why{};
};

/// The first failure that counts. `task` is no_task if no single task is to blame.
struct cause_found {
  first_cause cause;
  task_index task = no_task;
};

/// A task that failed at the same time as the first cause, but independently.
struct victim_found {
  task_index task = no_task;
};

/// The error is delivered to all tasks, once per generation.
struct error_delivered {
  fault_ptr told;
};

/// A task's complete state, except heartbeats, address and devices. Recorded for restored tasks,
/// and when a task becomes recoverable.
struct task_known {
  task_fact is;
};

/// The task's registration starts to wait for other tasks, or stops waiting if `as` is empty.
struct task_waits {
  task_index task = no_task;
  std::optional<core::incarnation> as;
};

struct task_registered {
  task_index task = no_task;
  bool anew = false;  ///< a new process has replaced a connected one
  core::incarnation incarnation{};
  time_point at{};
};

enum class failed_why : std::uint8_t {
  reported,
  silent,
  connection_closed,  ///< no message arrived after the connection was closed
  restarted,          ///< another process tried to replace the task without permission
  generation_failed,  ///< all tasks failed, because errors could not be delivered
  registration_failed,
  shutdown_failed,
  given_up,
};

struct task_failed {
  task_index task = no_task;
  failed_why why{};
  bool casualty = false;
  fault_ptr error;
};

enum class left_why : std::uint8_t {
  left,
  reset,  ///< reset by an operator, or by the task itself before it registers again
  shut_down,
};

struct task_left {
  task_index task = no_task;
  left_why why{};
  time_point grace_until{};
};

struct task_addressed {
  task_index task = no_task;
  std::string peer;
};

struct devices_brought {
  task_index task = no_task;
  std::size_t count = 0;
};

enum class notice_state : std::uint8_t {
  never,    ///< the task is not waiting
  listens,  ///< the task waits for the notice
  told,     ///< the notice was delivered
  lost,     ///< the wait has ended, or the server has restarted
  deaf,     ///< the task is alive, but its wait was lost
};

struct notice_changed {
  task_index task = no_task;
  notice_state from{};
  notice_state to{};
};

enum class barrier_number : std::uint64_t {};

enum class barrier_purpose : std::uint8_t { user = 0, registration = 1, devices = 2, shutdown = 3 };
constexpr auto enum_names(barrier_purpose) {
  using enum barrier_purpose;
  return enumerators<barrier_purpose>(user, "user", registration, "registration", devices,
                                      "devices", shutdown, "shutdown");
}

/// Task indices in ascending order.
using participants = std::vector<task_index>;

struct barrier_begun {
  barrier_number barrier{};
  std::string id;
  std::int64_t counter = 0;
  barrier_purpose purpose{};
  std::shared_ptr<participants const> who;
  time_point started{};
  time_point deadline = never;
};

enum class barrier_move : std::uint8_t {
  came,
  superseded,  ///< replaced by a newer call from the same task
  withdrawn,   ///< the caller disconnected, or was answered before its own deadline
  gave_up,     ///< after `withdrawn`: the task counts as arrived, not as missing
  task_gone,   ///< the task failed, left or restarted
};

struct barrier_moved {
  barrier_number barrier{};
  time_point at{};
  task_index task = no_task;
  barrier_move how{};
};

/// The first call from an agent sets the deadline.
struct barrier_due {
  barrier_number barrier{};
  time_point deadline{};
};

enum class barrier_outcome : std::uint8_t {
  known,
  passed,
  timed_out,
  task_failed,
  task_left,
  in_error_before,
  miscounted,           ///< a call has a different use count
  unknown_participant,  ///< a call names a task that is not in the cluster
  other_participants,   ///< a call names different participants from the first call
  no_participant,
  given_up,
  cancelled,
  stopped,
  undone,  ///< discarded, because only visitors arrived and all of them have left
};

/// If the counter is below 0, the barrier id is unknown again.
struct barrier_ended {
  barrier_number barrier{};
  std::int64_t counter = 0;
  fault_ptr result{};
  time_point ended{};
  std::size_t arrived = 0;
  task_index by = no_task;  ///< task that failed, left or made the wrong call
  barrier_outcome how{};
  /// Arrival times, in the order of barrier_begun::who. Set only for user barriers that passed.
  std::shared_ptr<std::vector<time_point> const> came{};
};

struct barrier_forgotten {
  barrier_number barrier{};
  std::string id;
};

enum class key_why : std::uint8_t { known, set, incremented, deleted };

struct key_changed {
  key_fact is;  ///< shared with the store; `changed` is the epoch if the key was deleted
  key_why why{};
};

using rich_change =
    std::variant<task_known, task_failed, task_addressed, barrier_begun, barrier_ended,
                 barrier_forgotten, key_changed, cause_found, error_delivered, cluster_declared>;

struct rich_at {
  std::size_t place = 0;
};

struct change {
  cluster_id cluster{};
  std::variant<rich_at, barrier_moved, barrier_due, task_waits, task_registered, task_left,
               devices_brought, notice_changed, victim_found, generation_begun, generation_changed,
               cluster_removed>
      what;
};

struct changes {
  std::vector<change> list;
  std::vector<rich_change> rich;
  std::vector<incident> incidents;

  void clear() {
    constexpr std::size_t kept = 16'384;
    incidents.capacity() > kept ? std::vector<incident>().swap(incidents) : incidents.clear();
    if (list.empty()) return;
    list.capacity() > kept ? std::vector<change>().swap(list) : list.clear();
    rich.capacity() > kept ? std::vector<rich_change>().swap(rich) : rich.clear();
  }
  template <class Take>
  void each(Take take, std::size_t first = 0) const {
    for (auto i = first; i < list.size(); ++i) {
      auto const& c = list[i];
      auto const give = [&](auto const& one) { take(c.cluster, one); };
      if (auto const* at = std::get_if<rich_at>(&c.what))
        std::visit(give, rich[at->place]);
      else
        std::visit(give, c.what);
    }
  }
};

/// Appends a cluster's changes to a list. REQUIRES: the list outlives this object.
class change_log {
 public:
  change_log(changes& to, cluster_id of) : to_(&to), of_(of) {}

  template <class Change>
  void note(Change c) const {
    if constexpr (std::is_trivially_copyable_v<Change>) {
      to_->list.push_back({of_, c});
    } else {
      add<Change>(std::move(c));
    }
  }
  template <class Change, class... Parts>
  void add(Parts&&... parts) const {
    to_->list.push_back({of_, rich_at{to_->rich.size()}});
    to_->rich.emplace_back(std::in_place_type<Change>, std::forward<Parts>(parts)...);
  }

 private:
  changes* to_;
  cluster_id of_;
};

}  // namespace muster::core::coordination
