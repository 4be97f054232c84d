// A store's thread. It processes requests in order, in batches of all pending requests. Callers
// must limit the number of pending requests.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace muster::server {

template <class Asked>
class store_thread {
 public:
  store_thread() = default;
  ~store_thread() { stop(true); }
  store_thread(store_thread const&) = delete;

  /// REQUIRES: the thread is not running.
  void start(std::function<void(std::vector<Asked>)> perform) {
    running_ = true;  // the thread has not started, so no lock is needed
    thread_ = std::thread([this, perform = std::move(perform)] {
      std::unique_lock hold(mutex_);
      while (true) {
        asked_.wait(hold, [this] { return !running_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        auto all = std::exchange(waiting_, {});
        hold.unlock();
        perform(std::move(all));
        hold.lock();
      }
    });
  }
  /// Adds requests. Returns false and drops the requests before `start` and after `stop`.
  /// Thread-safe.
  bool ask(std::vector<Asked> more) {
    {
      std::lock_guard const hold(mutex_);
      if (!running_) return false;
      std::move(more.begin(), more.end(), std::back_inserter(waiting_));
    }
    asked_.notify_one();
    return true;
  }
  /// Waits for the current batch and stops the thread. Can be called on any other thread. Returns
  /// false if the thread was not running.
  /// @param finish whether to process the pending requests as well
  bool stop(bool finish) {
    if (!thread_.joinable()) return false;
    {
      std::lock_guard const hold(mutex_);
      running_ = false;
      if (!finish) waiting_.clear();
    }
    asked_.notify_one();
    thread_.join();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable asked_;
  std::vector<Asked> waiting_;  // guarded by mutex_
  bool running_ = false;        // guarded by mutex_
  std::thread thread_;
};

}  // namespace muster::server
