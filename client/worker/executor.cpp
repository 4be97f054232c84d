#include "client/worker/executor.hpp"

#include <algorithm>
#include <system_error>

namespace muster {

executor::executor(std::uint32_t slots, std::function<void()> wake, report_buffer& reports,
                   std::shared_ptr<detail::object_caller> calls)
    : slots_(slots), wake_(std::move(wake)), reports_(reports), calls_(std::move(calls)) {
  try {
    while (threads_.size() < slots_) add_thread();
  } catch (...) {
    stop();
    throw;
  }
}

void executor::add_thread() {
  threads_.emplace_back([this] { work(); });
}

void executor::push(std::span<std::shared_ptr<job> const> jobs) {
  {
    std::lock_guard lock(mutex_);
    queue_.insert(queue_.end(), jobs.begin(), jobs.end());
  }
  for (auto n = std::min(jobs.size(), threads_.size()); n > 0; --n) changed_.notify_one();
}

void executor::set_waiting(std::size_t count) {
  {
    std::lock_guard lock(mutex_);
    waiting_ = count;
  }
  try {
    while (threads_.size() < slots_ + count) add_thread();
  } catch (std::system_error const&) {  // continue with fewer threads
  }
  changed_.notify_all();
}

void executor::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  for (auto& t : threads_) t.join();
  threads_.clear();
}

void executor::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // Waits without a deadline for jobs or stop().
    changed_.wait(
        lock, [this] { return stopping_ || (!queue_.empty() && executing_ < slots_ + waiting_); });
    if (stopping_) return;
    auto j = std::move(queue_.front());
    queue_.pop_front();
    ++executing_;
    lock.unlock();
    run(std::move(j));
    lock.lock();
    --executing_;
  }
}

void executor::run(std::shared_ptr<job> j) {
  auto expected = job::phase::queued;
  if (!j->state.compare_exchange_strong(expected, job::phase::running)) return;
  closure_reporter reporter(reports_, {j->closure, j->attempt});
  context c(*j->worker, j->closure, j->attempt, j->stop.get_token(), &reporter);
  auto const began = std::chrono::steady_clock::now();
  j->began.store(began, std::memory_order_release);
  {
    detail::object_caller_scope const here(calls_, nullptr);
    run_job(*j, c);
  }
  j->took = std::chrono::steady_clock::now() - began;
  bool first = false;
  {
    std::lock_guard lock(finished_mutex_);
    first = finished_.empty();
    finished_.push_back(std::move(j));
  }
  if (first) wake_();
}

}  // namespace muster
