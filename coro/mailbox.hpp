// A coalescing mailbox from many threads to one consumer: producers append, and only the one that
// finds it idle has to wake the consumer, which then drains everything at once. This costs a tenth
// of a wake-up per item. Owned by the consumer; push from any thread, drain on the consumer's.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "base/unique_function.hpp"

namespace muster::coro {

// What became of a pushed item. True in a condition: the caller must wake the consumer now.
struct push_result {
  bool accepted = false;  // false: full or closed, the item was not taken
  bool wake = false;
  explicit operator bool() const noexcept { return wake; }
};

template <class Item>
class basic_mailbox {
 public:
  // Policy when `items_max` items wait: push refuses, push_wait blocks the producer.
  explicit basic_mailbox(std::size_t items_max) : items_max_(items_max) {}

  // Never blocks. The item is moved from only when it was accepted.
  [[nodiscard]] push_result push(Item&& item) {
    std::lock_guard lock(mutex_);
    if (closed_ || items_.size() >= items_max_) return {};
    return append(std::move(item));
  }

  // Waits for room while the mailbox is full. REQUIRES: not the consumer's thread, which would wait
  // for itself.
  [[nodiscard]] push_result push_wait(Item&& item) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return closed_ || items_.size() < items_max_; });
    if (closed_) return {};
    return append(std::move(item));
  }

  // Swaps everything that waits into `out`, in order of arrival; from now on the next push asks for
  // a wake again. REQUIRES: `out` is empty; give the same vector each time, it keeps its memory.
  void drain(std::vector<Item>& out) {
    check(out.empty(), "a mailbox is drained into an empty vector");
    {
      std::lock_guard lock(mutex_);
      items_.swap(out);
      wake_pending_ = false;
    }
    room_.notify_all();
  }

  // From now on items are refused. What waits already can still be drained.
  void close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    room_.notify_all();
  }

  // Closes only if nothing waits and no producer is about to wake the consumer; tells whether it
  // did. After true no producer touches the consumer's wake-up again.
  [[nodiscard]] bool close_if_idle() {
    std::lock_guard lock(mutex_);
    if (!items_.empty() || wake_pending_) return false;
    closed_ = true;
    return true;
  }

 private:
  // REQUIRES: mutex_ is held.
  push_result append(Item&& item) {
    items_.push_back(std::move(item));
    return {.accepted = true, .wake = !std::exchange(wake_pending_, true)};
  }

  std::size_t const items_max_;

  std::mutex mutex_;  // protects all below
  std::condition_variable room_;
  std::vector<Item> items_;
  bool wake_pending_ = false;
  bool closed_ = false;
};

using mailbox = basic_mailbox<function>;

}  // namespace muster::coro
