// The threads that run a worker's functions: jobs in the order in which they came, each on the next
// thread that is free. Owned by the worker's runtime; push and stop on any one thread at a time.
#pragma once

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
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
  executor(std::uint32_t threads, std::function<void()> wake, report_buffer& reports,
           std::shared_ptr<detail::object_caller> calls = nullptr)
      : wake_(std::move(wake)), reports_(reports), calls_(std::move(calls)), threads_(threads) {}
  /// REQUIRES: stop() was called.
  ~executor() { check(stopped_, "an executor is stopped before it is destroyed"); }
  executor(executor const&) = delete;

  /// The queue holds what the worker holds, so its limit is the worker's credits.
  void push(std::span<std::shared_ptr<job> const> jobs) {
    for (auto const& j : jobs)
      boost::asio::post(threads_, [this, j]() mutable { run(std::move(j)); });
  }
  /// Moves the finished jobs, oldest first, into `out`.
  void take_finished(std::vector<std::shared_ptr<job>>& out) {
    std::lock_guard lock(mutex_);
    out.swap(finished_);
  }

  /// Drops what is queued and waits until every function has returned.
  void stop() {
    threads_.stop();
    threads_.join();
    stopped_ = true;
  }

 private:
  void run(std::shared_ptr<job> j) {
    auto expected = job::phase::queued;
    if (!j->state.compare_exchange_strong(expected, job::phase::running)) return;
    closure_reporter reporter(reports_, {j->closure, j->attempt});
    context c(*j->worker, j->closure, j->attempt, j->stop.get_token(), &reporter);
    auto const began = std::chrono::steady_clock::now();
    j->began.store(began, std::memory_order_release);
    {
      detail::calls_here const here(calls_, nullptr);
      run_job(*j, c);
    }
    j->took = std::chrono::steady_clock::now() - began;
    bool first = false;
    {
      std::lock_guard lock(mutex_);
      first = finished_.empty();
      finished_.push_back(std::move(j));
    }
    if (first) wake_();
  }

  std::function<void()> wake_;
  report_buffer& reports_;
  std::shared_ptr<detail::object_caller> const calls_;
  bool stopped_ = false;

  std::mutex mutex_;  // protects finished_
  std::vector<std::shared_ptr<job>> finished_;
  boost::asio::thread_pool threads_;
};

}  // namespace muster
