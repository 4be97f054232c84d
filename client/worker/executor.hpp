// Threads that run a worker's functions in order of arrival, at most `slots` at a time. A function
// that has released its slot to wait for a value does not count. When this function resumes, more
// than `slots` functions can run for a while. The members push(), set_waiting() and stop() must not
// be called concurrently.
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
#include "client/objects/object_caller_scope.hpp"
#include "client/worker/job.hpp"
#include "client/worker/report_buffer.hpp"

namespace muster {

class executor {
 public:
  /// `wake` is called on an executor thread when a job finishes and no other finished job is
  /// waiting. `reports` must outlive this object. Functions use `calls` to call objects.
  executor(std::uint32_t slots, std::function<void()> wake, report_buffer& reports,
           std::shared_ptr<detail::object_caller> calls = nullptr);
  /// @pre stop() has been called.
  ~executor() { check(threads_.empty(), "an executor must be stopped before it is destroyed"); }
  executor(executor const&) = delete;

  /// The worker's credits limit the length of the queue.
  void push(std::span<std::shared_ptr<job> const> jobs);
  /// Sets the number of functions that have released their slots. Adds threads as needed; the
  /// server limits their number.
  void set_waiting(std::size_t count);
  /// Moves the finished jobs into `out`, oldest first.
  void take_finished(std::vector<std::shared_ptr<job>>& out) {
    std::lock_guard lock(finished_mutex_);
    out.swap(finished_);
  }

  /// Drops queued jobs and waits until all functions have returned.
  void stop();

 private:
  void add_thread();
  void work();
  void run(std::shared_ptr<job> j);

  std::size_t const slots_;
  std::function<void()> wake_;
  report_buffer& reports_;
  std::shared_ptr<detail::object_caller> const calls_;

  std::mutex finished_mutex_;
  std::vector<std::shared_ptr<job>> finished_;

  std::mutex mutex_;  // protects the following members except threads_
  std::condition_variable changed_;
  std::deque<std::shared_ptr<job>> queue_;
  std::size_t executing_ = 0, waiting_ = 0;
  bool stopping_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace muster
