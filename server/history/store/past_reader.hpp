// Reads what is on disk for whoever asks for a time before what is in memory, on a thread of its
// own: a week may be looked through while engine and web go on.
//
// Owned by the app. Limits: questions that wait, below; how much one looks at is its own to bound.
#pragma once

#include <atomic>
#include <functional>

#include "base/status.hpp"
#include "server/disk/store_thread.hpp"
#include "server/history/store/history_store.hpp"

namespace muster::server {

class past_reader {
 public:
  /// Full: the next one is refused.
  static constexpr std::size_t questions_max = 8;

  using question = std::function<void(history_store const&)>;

  /// REQUIRES: the store outlives it.
  void start(history_store const& store);
  /// What waits is dropped unasked. Harmless when it was not started.
  void stop() { thread_.stop(false); }

  // Any thread, once started or never.
  bool there() const { return there_; }
  /// FAILED_PRECONDITION: nothing is kept here. RESOURCE_EXHAUSTED: too many wait. UNAVAILABLE: it
  /// has stopped.
  muster::status ask(question q);

 private:
  std::atomic<bool> there_ = false;
  std::atomic<std::size_t> waiting_ = 0;
  store_thread<question> thread_;
};

}  // namespace muster::server
