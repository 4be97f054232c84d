// Queue from many producer threads to one consumer thread. Only the producer that finds the mailbox
// idle wakes the consumer; a wake-up for each item would cost ten times as much. The consumer owns
// the mailbox and drains it on its thread; any thread can push.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "base/unique_function.hpp"

namespace muster::coro {

// Converts to true if the caller must wake the consumer now.
struct push_result {
  bool accepted = false;  // false if the mailbox is full or closed; the item was then not moved
  bool wake = false;
  explicit operator bool() const noexcept { return wake; }
};

template <class Item>
class basic_mailbox {
 public:
  // While the mailbox contains `items_max` items, push() refuses and push_wait() blocks.
  explicit basic_mailbox(std::size_t items_max) : items_max_(items_max) {}

  // Never blocks.
  [[nodiscard]] push_result push(Item&& item) {
    std::lock_guard lock(mutex_);
    if (closed_ || items_.size() >= items_max_) return {};
    return append(std::move(item));
  }

  // Blocks while the mailbox is full.
  // @pre The caller is not on the consumer's thread.
  [[nodiscard]] push_result push_wait(Item&& item) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return closed_ || items_.size() < items_max_; });
    if (closed_) return {};
    return append(std::move(item));
  }

  // Moves all items into `out`, in order. The next push requests a wake-up again. @pre `out` is
  // empty.
  void drain(std::vector<Item>& out) {
    check(out.empty(), "a mailbox must be drained into an empty vector");
    {
      std::lock_guard lock(mutex_);
      items_.swap(out);
      wake_pending_ = false;
    }
    room_.notify_all();
  }

  // Refuses further items.
  void close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    room_.notify_all();
  }

  // Closes the mailbox and returns true, unless an item is queued or a producer is about to wake
  // the consumer. After closing, no producer wakes the consumer.
  [[nodiscard]] bool close_if_idle() {
    std::lock_guard lock(mutex_);
    if (!items_.empty() || wake_pending_) return false;
    closed_ = true;
    return true;
  }

 private:
  // @pre mutex_ is held.
  push_result append(Item&& item) {
    items_.push_back(std::move(item));
    return {.accepted = true, .wake = !std::exchange(wake_pending_, true)};
  }

  std::size_t const items_max_;

  std::mutex mutex_;  // guards all members below
  std::condition_variable room_;
  std::vector<Item> items_;
  bool wake_pending_ = false;
  bool closed_ = false;
};

using mailbox = basic_mailbox<function>;

}  // namespace muster::coro
