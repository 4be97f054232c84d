// Objects by number, by name and by task, and the tasks that hold or will hold objects. States of
// an object:
//
//   add ──► pending ──its task connects──► starting ──► ready
//                                             └──► failed   └──► lost
//
// Used only on the engine thread; bounded by object_limits. A task is kept while it is connected or
// has objects.
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
  time_point created{}, since{};
  object_state state = object_state::pending;
  object_end end{};
  std::uint64_t answered = 0;
  std::string last_error{};
  // Calls, oldest first. Up to half of these calls can be answered already.
  std::deque<call_name> queue{};
  std::size_t passed = 0;  // upper bound of the answered entries in `queue`
  std::set<session_id> users{};
  failure why{};

  void become(time_point now, object_state next) {
    if (state != next) since = now;
    state = next;
  }
};

/// Returns the message, preceded by the exception type if there is one.
std::string failure_text(failure const& f);

using task_name = std::pair<std::string, std::int64_t>;

std::string text(task_name const& t);

struct task {
  stream_id stream{};  // no value while the worker is disconnected
  core::incarnation incarnation{};
  time_point lost_at = never;
  bool takes = false;
  std::set<object_id> has{};
};

class object_book {
 public:
  explicit object_book(object_limits const& limits) : limits_(limits) {}

  /// Datasets and objects share one sequence of numbers.
  std::uint64_t next_number() { return ++last_; }
  void begin_above(std::uint64_t last) { last_ = last; }
  /// Returns INVALID_ARGUMENT with the name of a field, ALREADY_EXISTS if the object's name is in
  /// use, or RESOURCE_EXHAUSTED at a limit.
  status check(object_spec const& spec) const;
  /// REQUIRES: check(o.spec) succeeds.
  object_id add(object o);
  object* find(object_id id);
  object const* find(object_id id) const { return const_cast<object_book*>(this)->find(id); }
  object_id named(std::string_view name) const;
  void erase(object_id id);
  void forget_args(object& o);
  /// Marks the object as failed or lost, and frees its name. The object is kept so that callers
  /// receive the reason. Above object_limits::lost_max, the oldest failed or lost object is erased.
  void lose(time_point now, object_id id, failure why, object_end how);

  task& of(task_name const& t) { return tasks_[t]; }
  std::optional<task_name> task_of(stream_id stream) const;
  void connect(task& t, task_name const& name, stream_id stream);
  std::map<task_name, task>& tasks() { return tasks_; }
  std::map<task_name, task> const& tasks() const { return tasks_; }
  std::map<object_id, object>& all() { return objects_; }
  std::map<object_id, object> const& all() const { return objects_; }
  /// Removes the task if it is disconnected, is not expected to return, and has no objects.
  void tidy(task_name const& t);

 private:
  void free_name(object_id id, object const& o);

  object_limits const& limits_;
  std::uint64_t last_ = 0;
  std::size_t args_bytes_ = 0;
  std::map<object_id, object> objects_;
  std::map<std::string, object_id, std::less<>> names_;
  std::map<task_name, task> tasks_;
  std::map<stream_id, task_name> streams_;
  std::deque<object_id> lost_;  // oldest first; may contain erased objects
};

}  // namespace muster::core::objects
