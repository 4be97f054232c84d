// The threads that run a worker's functions. Owned by the worker's runtime; push and stop on any
// one thread at a time.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "client/worker/job.hpp"
#include "client/worker/report_buffer.hpp"

namespace muster {

class executor {
 public:
  /// `wake` is called from an executor thread when finished jobs wait and were not waiting before.
  /// Functions report to `reports`, which outlives this.
  executor(std::uint32_t threads, std::function<void()> wake, report_buffer& reports);
  /// REQUIRES: stop() was called.
  ~executor();
  executor(executor const&) = delete;

  /// The queue holds what the worker holds, so its limit is the worker's credits.
  void push(std::span<std::shared_ptr<job> const> jobs);
  /// Moves the finished jobs, oldest first, into `out`.
  void take_finished(std::vector<std::shared_ptr<job>>& out);

  /// Drops what is queued and waits until every function has returned.
  void stop();

 private:
  void run(std::shared_ptr<job> j);

  std::function<void()> wake_;
  report_buffer& reports_;
  bool stopped_ = false;

  std::mutex mutex_;  // protects finished_
  std::vector<std::shared_ptr<job>> finished_;
  boost::asio::thread_pool threads_;
};

}  // namespace muster
