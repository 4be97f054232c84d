// Tasks whose process is their state, such as parameter servers (config::stateful_jobs), and the
// sessions that rely on what such a task has.
//
//   came ──► here ──gone──► away ──same incarnation──► here
//              │             └── the grace is over, or another incarnation came ──► lost
//              └── good-bye ──► lost
//
// Who relied on a task that is lost is told once; what follows is for the caller. It knows tasks by
// name and sessions by number. Owned by the coordinator; engine thread only. Limits: a task here
// has, or had a moment ago, a row of the registry; of each, the sessions that there are.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/core/api/config.hpp"
#include "server/core/api/vocabulary.hpp"
#include "server/core/records/numbers.hpp"

namespace muster::core {

class stateful_tasks {
 public:
  using task_key = std::pair<std::string, std::int64_t>;

  explicit stateful_tasks(config const& c) : config_(c) {}

  bool holds_state(std::string const& job) const;
  /// A task that came, or came back. `alarm`: when it would have been lost, never if it was not
  /// away; `lost`: what was there before is not there any more.
  struct arrival {
    std::uint64_t number = 0;  // of the task, for its alarm
    time_point alarm = never;
    bool lost = false;
  };
  arrival came(task_key const& t, incarnation i);
  /// Its connection is gone; it is lost at `until`. The number for the alarm, 0: nothing to set, it
  /// is away already, or is not one of these.
  std::uint64_t gone(task_key const& t, time_point until);
  /// 0: it is not here.
  std::uint64_t number_of(task_key const& t) const;
  /// Whose alarm on_alarm, or null.
  task_key const* find(std::uint64_t number) const;
  /// It has no alarm any more.
  void on_alarm(task_key const& t) { tasks_.at(t).lost_at = never; }
  /// It is forgotten. When it would have been lost; never if it was not away.
  time_point lose(task_key const& t);

  /// The session relies on what the task has just now; nothing for a task that is not here, or not
  /// one of these.
  void use(session_number s, task_key const& t);
  /// "ps:1"
  void use(session_number s, std::string_view name);
  /// Who relied on it, and does no more.
  std::vector<session_number> take_users(task_key const& t);
  /// The session is gone, or begins anew.
  void forget(session_number s);

  std::size_t away() const;
  /// Empty when all is in order.
  std::string invalid() const;

 private:
  struct entry {
    std::uint64_t number = 0;
    core::incarnation incarnation{};
    time_point lost_at = never;  // away: until then
    std::set<session_number> users;
  };

  config const& config_;
  std::map<task_key, entry> tasks_;
  std::uint64_t last_ = 0;
};

}  // namespace muster::core
