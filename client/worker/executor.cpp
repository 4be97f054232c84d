// Jobs in the order in which they came, each on the next thread that is free.
#include "client/worker/executor.hpp"

#include <boost/asio/post.hpp>

#include "base/check.hpp"

namespace muster {

executor::executor(std::uint32_t threads, std::function<void()> wake, report_buffer& reports)
    : wake_(std::move(wake)), reports_(reports), threads_(threads) {}

executor::~executor() {
  check(stopped_, "an executor is stopped before it is destroyed");
}

void executor::push(std::span<std::shared_ptr<job> const> jobs) {
  for (auto const& j : jobs)
    boost::asio::post(threads_, [this, j]() mutable { run(std::move(j)); });
}

void executor::take_finished(std::vector<std::shared_ptr<job>>& out) {
  std::lock_guard lock(mutex_);
  out.swap(finished_);
}

void executor::stop() {
  threads_.stop();
  threads_.join();
  stopped_ = true;
}

void executor::run(std::shared_ptr<job> j) {
  auto expected = job::phase::queued;
  if (!j->state.compare_exchange_strong(expected, job::phase::running)) return;
  closure_reporter reporter(reports_, {j->closure, j->attempt});
  context c(*j->worker, j->closure, j->attempt, j->stop.get_token(), &reporter);
  auto const began = std::chrono::steady_clock::now();
  j->began.store(began, std::memory_order_release);
  run_job(*j, c);
  j->took = std::chrono::steady_clock::now() - began;
  bool first = false;
  {
    std::lock_guard lock(mutex_);
    first = finished_.empty();
    finished_.push_back(std::move(j));
  }
  if (first) wake_();
}

}  // namespace muster
