// Who is here: the tasks, and the workers that serve them just now. A worker is known by its
// stream, and inside the core by a small number; a task has one worker at most.
//
// It knows neither what a worker holds nor what waits for it. Owned by the coordinator; engine
// thread only. Limit: config::tasks_max.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/core/common/numbered.hpp"
#include "server/core/workers/task_rows.hpp"

namespace muster::core {

class worker_registry {
 public:
  worker_registry(config const& c, server_wide& wide, changes& out) : tasks(c, wide, out) {}

  task_rows tasks;

  /// A worker of the task; its number is new. It is not the task's before `serve`.
  worker& add(stream_id stream, task_row& t);
  void serve(worker& w) { w.task->worker = &w; }
  void erase(worker& w);

  worker* find(stream_id s) const {
    auto const it = workers_.find(s);
    return it == workers_.end() ? nullptr : it->second.get();
  }
  worker& of(worker_number n) const { return *by_number_[raw(n)]; }
  /// Their order is part of the behaviour.
  std::unordered_map<stream_id, std::unique_ptr<worker>> const& all() const { return workers_; }
  bool empty() const { return workers_.empty(); }

  /// Empty when all is in order between two steps.
  std::string invalid() const;

 private:
  void enlist(worker& w);

  number_pool<worker_number> numbers_;
  std::unordered_map<stream_id, std::unique_ptr<worker>> workers_;
  std::vector<worker*> by_number_;
};

}  // namespace muster::core
