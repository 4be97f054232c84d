// Queries about tasks and their workers' closures. Results are copies; errors contain the task.
//
// Used only on the engine thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/core/api/views.hpp"

namespace muster::core {

struct engine_state;
struct running_view;     // api/activity.hpp
struct worker_contents;  // api/listings.hpp

struct task_filter {
  std::optional<task_state> state;
  std::string job;  // all jobs if empty
};

class worker_queries {
 public:
  explicit worker_queries(engine_state const& core) : core_(core) {}

  result<task_view> find(std::string_view job, std::int64_t index) const;
  /// Returns tasks ordered by (job, index).
  /// @param after number of rows to skip
  page<task_view, std::size_t> list(std::size_t after, std::size_t limit,
                                    task_filter const& filter) const;

  /// Returns job and index of all tasks by the name of the host on which each task registered.
  std::map<std::string, std::vector<std::pair<std::string, std::int64_t>>> by_host() const;

  std::uint32_t connected() const;
  /// Returns the number of connected and disconnected tasks of a job. The number changes only when
  /// tasks_version() changes.
  std::uint32_t tasks_of(std::string const& job) const;
  std::uint64_t tasks_version() const;

  /// Returns up to `limit` running and up to `limit` prefetched closures, oldest first.
  result<worker_contents> closures_held_by(std::string_view job, std::int64_t index,
                                           std::size_t limit) const;
  /// Returns the running closures, oldest first. If `of` is given, returns only the closures of
  /// that session.
  std::vector<running_view> running_on(std::string_view job, std::int64_t index,
                                       session_id of = {}) const;

 private:
  engine_state const& core_;
};

}  // namespace muster::core
