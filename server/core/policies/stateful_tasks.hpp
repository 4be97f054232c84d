// Tasks whose process holds state, such as parameter servers (config::stateful_jobs), and the
// sessions that rely on this state. States:
//
//   (new) ──► connected ──broke──► away ──same incarnation──► connected
//                │                  └── grace period over, or a new incarnation ──► lost
//                └── worker has left ──► lost
//
// The sessions that relied on a lost task are returned once. Used only on the engine thread. The
// task registry limits the number of tasks; the session table limits the number of users per task.
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
  struct arrival {
    std::uint64_t number = 0;
    time_point alarm = never;
    bool lost = false;
  };
  arrival task_connected(task_key const& t, incarnation i);
  /// `until` is the time at which the task is declared lost. Returns the alarm's number, or 0 if
  /// the task is unknown or already disconnected.
  std::uint64_t task_disconnected(task_key const& t, time_point until);
  /// Returns 0 for an unknown task.
  std::uint64_t number_of(task_key const& t) const;
  task_key const* find(std::uint64_t number) const;
  /// REQUIRES: the task is known.
  void on_alarm(task_key const& t) { tasks_.at(t).lost_at = never; }
  /// Removes the task. Returns the time at which the task would have been lost, or `never` if the
  /// task was connected.
  time_point lose(task_key const& t);

  /// Records that the session relies on the task. Ignored for an unknown task.
  void use(session_number s, task_key const& t);
  /// `name` is a task such as "ps:1".
  void use(session_number s, std::string_view name);
  std::vector<session_number> take_users(task_key const& t);
  void forget(session_number s);

  std::size_t count_disconnected() const;
  std::string invalid() const;

 private:
  struct entry {
    std::uint64_t number = 0;
    core::incarnation incarnation{};
    time_point lost_at = never;  // `never` while the task is connected
    std::set<session_number> users;
  };

  config const& config_;
  std::map<task_key, entry> tasks_;
  std::uint64_t last_ = 0;
};

}  // namespace muster::core
