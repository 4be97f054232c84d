// What readers ask about tasks and what their workers hold. Everything is copied; an error names
// the task.
//
// Handed out by the coordinator, which outlives it; engine thread only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/views.hpp"

namespace muster::core {

struct engine_state;
struct running_view;  // api/activity.hpp
struct worker_hands;  // api/listings.hpp

struct task_filter {
  std::optional<task_state> state;
  std::string job;  // empty: all
};

class worker_queries {
 public:
  explicit worker_queries(engine_state const& core) : core_(core) {}

  result<task_view> look(std::string_view job, std::int64_t index) const;
  /// By (job, index). `after`: rows to skip.
  page<task_view, std::size_t> list(std::size_t after, std::size_t limit,
                                    task_filter const& filter) const;

  /// How many are connected.
  std::uint32_t connected() const;
  /// How many tasks a job has, whoever is connected; see worker_registry. Another version: it may
  /// have changed.
  std::uint32_t tasks_of(std::string const& job) const;
  std::uint64_t tasks_version() const;

  /// What a worker runs and has prefetched, oldest first; at most `limit` of each.
  result<worker_hands> in_hands_of(std::string_view job, std::int64_t index,
                                   std::size_t limit) const;
  /// Closures that run on a task's worker now, oldest first; of `of` alone, when it is one.
  std::vector<running_view> running_on(std::string_view job, std::int64_t index,
                                       session_id of = {}) const;

 private:
  engine_state const& core_;
};

}  // namespace muster::core
