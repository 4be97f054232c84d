// Runs in the test the functions that are posted to an engine.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

namespace muster::server {

using namespace std::chrono_literals;

/// The test's thread acts as the engine's thread.
class loop {
 public:
  void post(std::function<void()> work) {
    std::lock_guard const hold(mutex_);
    queue_.push_back(std::move(work));
    changed_.notify_one();
  }
  void run_until(std::function<bool()> const& done) {
    while (!done()) {
      std::unique_lock hold(mutex_);
      ASSERT_TRUE(changed_.wait_for(hold, 20s, [this] { return !queue_.empty(); }));
      auto work = std::move(queue_.front());
      queue_.pop_front();
      hold.unlock();
      work();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
};

}  // namespace muster::server
