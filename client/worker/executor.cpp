#include "client/worker/executor.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace muster {

executor::executor(std::uint32_t threads, std::function<void()> wake, report_buffer& reports)
    : wake_(std::move(wake)), reports_(reports) {
  threads_.reserve(threads);
  for (std::uint32_t i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

executor::~executor() {
  check(threads_.empty(), "an executor is stopped before it is destroyed");
}

void executor::push(std::span<std::shared_ptr<job> const> jobs) {
  std::size_t to_wake = 0;
  {
    std::lock_guard lock(mutex_);
    queue_.insert(queue_.end(), jobs.begin(), jobs.end());
    to_wake = std::min(idle_, jobs.size());
  }
  for (; to_wake > 0; --to_wake) work_.notify_one();
}

void executor::take_finished(std::vector<std::shared_ptr<job>>& out) {
  std::lock_guard lock(mutex_);
  out.swap(finished_);
}

void executor::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
  }
  work_.notify_all();
  for (auto& t : threads_) t.join();
  threads_.clear();
}

void executor::serve() {
  for (;;) {
    std::shared_ptr<job> next;
    {
      std::unique_lock lock(mutex_);
      ++idle_;
      work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });  // idle: no deadline
      --idle_;
      if (stopping_) return;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    auto expected = job::phase::queued;
    if (!next->state.compare_exchange_strong(expected, job::phase::running)) continue;
    closure_reporter reporter(reports_, {next->closure, next->attempt});
    context c(*next->worker, next->closure, next->attempt, next->stop.get_token(), &reporter);
    auto const began = std::chrono::steady_clock::now();
    run_job(*next, c);
    next->took = std::chrono::steady_clock::now() - began;
    finish(std::move(next));
  }
}

void executor::finish(std::shared_ptr<job> done) {
  bool first = false;
  {
    std::lock_guard lock(mutex_);
    first = finished_.empty();
    finished_.push_back(std::move(done));
  }
  if (first) wake_();
}

}  // namespace muster
