// Tasks and the workers that serve them. A worker is identified by its stream, and within the core
// by a number. A task has at most one worker. Used only on the engine thread; bounded by
// config::tasks_max.
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

  /// The worker serves the task only after `serve` is called.
  worker& add(stream_id stream, task_row& t);
  void serve(worker& w) { w.task->worker = &w; }
  void erase(worker& w);

  worker* find(stream_id s) const {
    auto const it = workers_.find(s);
    return it == workers_.end() ? nullptr : it->second.get();
  }
  worker& of(worker_number n) const { return *by_number_[raw(n)]; }
  /// Decisions depend on the iteration order.
  std::unordered_map<stream_id, std::unique_ptr<worker>> const& all() const { return workers_; }
  bool empty() const { return workers_.empty(); }

  std::string invalid() const;

 private:
  void enlist(worker& w);

  number_pool<worker_number> numbers_;
  std::unordered_map<stream_id, std::unique_ptr<worker>> workers_;
  std::vector<worker*> by_number_;
};

}  // namespace muster::core
