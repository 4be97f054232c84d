// What became of what in a step, and why: the only word that readers get of the coordination core.
// Effects are what somebody waits for; a change is what nobody waits for. Changes are complete: who
// folds them from the start knows every cluster, generation, task, barrier and key as the core does
// (tests/coordination/changes_model.hpp does, after every step of the simulator). What restarts
// must know is derived from them; see coordination_facts.hpp. No changes are: heartbeats, and calls
// that wait, but for those at barriers.
//
// Written where the state changes, valid until the next step. They stand in one list, in the order
// in which they happened: a generation may end, and the next begin, in the middle of a step, and
// what is said after `generation_begun` is of the new one. Those that happen often hold numbers
// alone and stand in the list itself; those that own something stand beside it. Limit: what one
// step changes, which its event's limits bound. Lists give their memory back when one step has made
// them large.
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

enum class cluster_id : std::uint32_t {};  ///< stable for the life of the server; 0 is none

enum class declared_why : std::uint8_t {
  known,  ///< from an earlier process, or since whole() was asked
  created,
  redeclared,
  in_force,  ///< what had been declared for the next generation
};

struct cluster_declared {
  std::shared_ptr<cluster_spec const> spec;
  std::shared_ptr<cluster_spec const> next;  ///< declared since; null: nothing
  declared_why why{};
};

struct cluster_removed {};

enum class begun_why : std::uint8_t { known, created, redeclared, renewed };

/// Of tasks and barriers nothing holds that was said of the cluster before; of keys neither, unless
/// they are kept.
struct generation_begun {
  std::uint64_t number = 0;
  core::incarnation incarnation{};
  begun_why why{};
  bool keeps_keys = false;
};

enum class generation_why : std::uint8_t {
  known,
  first_registration,
  goes_on,  ///< all had left, and one is back
  all_left,
  task_failed,
  registration_failed,
  shutdown_failed,
  given_up,  ///< somebody who is none of its tasks said so
  stopped,   ///< with the server or the cluster, or to make room for the next
};

/// All that its course is.
struct generation_changed {
  time_point started{};
  time_point ended{};
  bool failed = false;
  bool refuses = false;  ///< see fail_cluster
  generation_why why{};
};

/// The first failure that counts; no_task: none in particular is to blame.
struct cause_found {
  first_cause cause;
  task_index task = no_task;
};

/// It failed at the moment of the first cause, and not because of it.
struct victim_found {
  task_index task = no_task;
};

/// What everybody is told, once a generation.
struct error_told {
  fault_ptr told;
};

/// All that a task is, but for its heartbeats, its address and its devices: it is known already, or
/// may come and go from now on. Of notices see notice_changed, which counts when it comes later.
struct task_known {
  task_fact is;
};

/// Its call waits for the others to register, or no more: it is gone, or answered with an error.
struct task_waits {
  task_index task = no_task;
  std::optional<core::incarnation> as;
};

/// It is connected, from whatever state, and has no error.
struct task_registered {
  task_index task = no_task;
  bool anew = false;  ///< another process has taken the place of a connected one
  core::incarnation incarnation{};
  time_point at{};
};

enum class failed_why : std::uint8_t {
  reported,             ///< by itself
  silent,               ///< no heartbeat
  connection_closed,    ///< and nothing was heard of it
  restarted,            ///< another process came for its place where none may
  generation_failed,    ///< and nobody could be told
  registration_failed,  ///< everybody's
  shutdown_failed,      ///< everybody's
  given_up,             ///< everybody's: somebody who is none of the tasks said so
};

struct task_failed {
  task_index task = no_task;
  failed_why why{};
  bool casualty = false;  ///< it followed from another's
  fault_ptr error;
};

enum class left_why : std::uint8_t {
  left,
  reset,      ///< by an operator, or by itself to register again
  shut_down,  ///< all have come to the barrier of the shutdown
};

/// It is disconnected, and has no error.
struct task_left {
  task_index task = no_task;
  left_why why{};
  time_point grace_until{};  ///< see task_fact
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
  never,
  listens,  ///< a call of it waits for the notice of a preemption
  told,
  lost,  ///< the wait is over, or the server began again
  deaf,  ///< lost, and it lives
};

/// A task hears of preemptions, or not; see notice_listeners.
struct notice_changed {
  task_index task = no_task;
  notice_state from{};
  notice_state to{};
};

enum class barrier_number : std::uint64_t {};

/// Who answers when it ends, and with what.
enum class barrier_purpose : std::uint8_t { user = 0, registration = 1, devices = 2, shutdown = 3 };
constexpr auto enum_names(barrier_purpose) {
  using enum barrier_purpose;
  return enumerators<barrier_purpose>(user, "user", registration, "registration", devices,
                                      "devices", shutdown, "shutdown");
}

/// In ascending order.
using participants = std::vector<task_index>;

/// A use of the id.
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
  superseded,  ///< by a newer call of the task, which comes next
  withdrawn,   ///< its call is gone, or is answered shortly before its own deadline
  gave_up,     ///< after it was withdrawn: it came, so it is not missing
  task_gone,   ///< failed, left or restarted: what is said of the task tells which
};

struct barrier_moved {
  barrier_number barrier{};
  time_point at{};
  task_index task = no_task;
  barrier_move how{};
};

/// The first call of an agent sets the clock.
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
  in_error_before,      ///< a participant, as it was called
  miscounted,           ///< a call counts its uses otherwise
  unknown_participant,  ///< a call names one that the cluster does not have
  other_participants,   ///< than it began with, in a call
  no_participant,       ///< called
  given_up,             ///< with the generation
  cancelled,
  stopped,
  undone,  ///< only visitors came, and have gone: it is as if the use had not begun
};

/// The use is over: the id has this count and result. Below 0: nothing is known of it.
struct barrier_ended {
  barrier_number barrier{};
  std::int64_t counter = 0;
  fault_ptr result{};  ///< null: passed
  time_point ended{};
  std::size_t arrived = 0;
  task_index by = no_task;  ///< who failed, left or called wrongly
  barrier_outcome how{};
  /// Of a user's that has passed: when each came, by position in barrier_begun::who.
  std::shared_ptr<std::vector<time_point> const> came{};
};

struct barrier_forgotten {
  barrier_number barrier{};
  std::string id;
};

enum class key_why : std::uint8_t { known, set, incremented, deleted };

struct key_changed {
  key_fact is;  ///< the value is shared; of a deleted one `changed` is zero
  key_why why{};
};

/// One that owns something.
using rich_change =
    std::variant<task_known, task_failed, task_addressed, barrier_begun, barrier_ended,
                 barrier_forgotten, key_changed, cause_found, error_told, cluster_declared>;

/// Its place in changes::rich.
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
  std::vector<incident> incidents;  ///< for people, in their order

  void clear() {
    constexpr std::size_t kept = 16'384;  // a hundred thousand tasks that register stay no memory
    incidents.capacity() > kept ? std::vector<incident>().swap(incidents) : incidents.clear();
    if (list.empty()) return;
    list.capacity() > kept ? std::vector<change>().swap(list) : list.clear();
    rich.capacity() > kept ? std::vector<rich_change>().swap(rich) : rich.clear();
  }
  /// `take(cluster, one)` for each kind, in their order, from the one at `first` on.
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

/// Where the parts of a cluster say what they change. REQUIRES: the list outlives it.
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
  /// One that owns something, made in its place of this.
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
