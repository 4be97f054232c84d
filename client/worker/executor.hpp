// The threads that run a worker's functions: jobs in the order in which they came, each on the next
// thread that is free, as many at one time as there are slots. One that waits for a value does not
// count while others may execute in its place; when it goes on, more may execute for a while.
// Owned by the worker's runtime; push, set_waiting and stop on any one thread at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/check.hpp"
#include "client/objects/here.hpp"
#include "client/worker/job.hpp"
#include "client/worker/report_buffer.hpp"

namespace muster {

class executor {
 public:
  /// `wake` is called from an executor thread when finished jobs wait and were not waiting before.
  /// Functions report to `reports`, which outlives this, and call objects by `calls`.
  executor(std::uint32_t slots, std::function<void()> wake, report_buffer& reports,
           std::shared_ptr<detail::object_caller> calls = nullptr);
  /// REQUIRES: stop() was called.
  ~executor() { check(threads_.empty(), "an executor is stopped before it is destroyed"); }
  executor(executor const&) = delete;

  /// The queue holds what the worker holds, so its limit is the worker's credits.
  void push(std::span<std::shared_ptr<job> const> jobs);
  /// So many of those that execute wait for values, and have given their slots back. There are as
  /// many threads more as have waited at one time, which the server bounds.
  void set_waiting(std::size_t count);
  /// Moves the finished jobs, oldest first, into `out`.
  void take_finished(std::vector<std::shared_ptr<job>>& out) {
    std::lock_guard lock(finished_mutex_);
    out.swap(finished_);
  }

  /// Drops what is queued and waits until every function has returned.
  void stop();

 private:
  void add_thread();
  void work();
  void run(std::shared_ptr<job> j);

  std::size_t const slots_;
  std::function<void()> wake_;
  report_buffer& reports_;
  std::shared_ptr<detail::object_caller> const calls_;

  std::mutex finished_mutex_;  // protects finished_
  std::vector<std::shared_ptr<job>> finished_;

  std::mutex mutex_;  // protects all below but threads_
  std::condition_variable changed_;
  std::deque<std::shared_ptr<job>> queue_;
  std::size_t executing_ = 0, waiting_ = 0;
  bool stopping_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace muster
