// The objects that there are, by number, by name and by task, and the tasks that have them or are
// to have them.
//
//   add ──► pending ──its task is here──► starting ──► ready
//                                            └──► failed   └──► lost
//
// Owned by object_table; engine thread only. Limits: object_limits; a task is here while it is
// attached or has objects.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "server/core/api/objects.hpp"

namespace muster::core::objects {

struct object {
  object_spec spec{};
  session_id owner{};
  std::string submitter{};
  time_point created{}, since{};  // `since`: of the state
  object_state state = object_state::pending;
  object_end end{};
  std::uint64_t answered = 0;
  std::string last_error{};
  std::deque<call_name> queue{};  // not answered, oldest first; half of them may have been
  std::size_t passed = 0;         // at most so many of these have been
  std::set<session_id> users{};   // that have asked for it, or called it
  failure why{};                  // failed, lost

  void become(time_point now, object_state next) {
    if (state != next) since = now;
    state = next;
  }
};

/// Its type, where it has one, and its message.
std::string said_by(failure const& f);

using task_name = std::pair<std::string, std::int64_t>;

std::string text(task_name const& t);

struct task {
  stream_id stream{};  // none: it is away, or was never here
  core::incarnation incarnation{};
  time_point lost_at = never;  // while it is away
  bool takes = false;          // it can hold objects
  std::set<object_id> has{};
};

class object_book {
 public:
  explicit object_book(object_limits const& limits) : limits_(limits) {}

  /// For who counts with the same numbers.
  std::uint64_t next_number() { return ++last_; }
  /// Ids begin above `last`.
  void begin_above(std::uint64_t last) { last_ = last; }
  /// Errors: INVALID_ARGUMENT with the field, ALREADY_EXISTS (the name), RESOURCE_EXHAUSTED.
  status check(object_spec const& spec) const;
  /// REQUIRES: check.
  object_id add(object o);
  object* find(object_id id);
  object const* find(object_id id) const { return const_cast<object_book*>(this)->find(id); }
  /// None: nobody has the name.
  object_id named(std::string_view name) const;
  void erase(object_id id);
  /// It is made: what it was made with is not kept.
  void forget_args(object& o);
  /// It is remembered for a while, so that who calls it hears why; its name is free.
  void lose(time_point now, object_id id, failure why, object_end how);

  task& of(task_name const& t) { return tasks_[t]; }
  /// None: it is no task's.
  std::optional<task_name> task_of(stream_id stream) const;
  /// The task has another stream, or none.
  void connect(task& t, task_name const& name, stream_id stream);
  std::map<task_name, task>& tasks() { return tasks_; }
  std::map<task_name, task> const& tasks() const { return tasks_; }
  std::map<object_id, object>& all() { return objects_; }
  std::map<object_id, object> const& all() const { return objects_; }
  /// A task that is neither here nor has anything.
  void tidy(task_name const& t);

 private:
  void free_name(object_id id, object const& o);

  object_limits const& limits_;
  std::uint64_t last_ = 0;
  std::size_t args_bytes_ = 0;  // of those that are not made yet
  std::map<object_id, object> objects_;
  std::map<std::string, object_id, std::less<>> names_;
  std::map<task_name, task> tasks_;
  std::map<stream_id, task_name> streams_;
  std::deque<object_id> lost_;  // oldest first; some are gone
};

}  // namespace muster::core::objects
