// Reads the history on disk on its own thread, so that long searches do not block engine and web.
// Owned by the app. Each question bounds its own work.
#pragma once

#include <atomic>
#include <functional>

#include "base/status.hpp"
#include "server/disk/store_thread.hpp"
#include "server/history/store/history_store.hpp"

namespace muster::server {

class history_reader {
 public:
  /// Waiting questions. Beyond it, they are rejected.
  static constexpr std::size_t questions_max = 8;

  using question = std::function<void(history_store const&)>;

  /// @pre The store outlives it.
  void start(history_store const& store);
  /// Drops waiting questions. Harmless if it was not started.
  void stop() { thread_.stop(false); }

  // Any thread, even if it was never started.
  bool there() const { return there_; }
  /// @return FAILED_PRECONDITION: no store. RESOURCE_EXHAUSTED: too many questions wait.
  /// UNAVAILABLE: stopped.
  muster::status ask(question q);

 private:
  std::atomic<bool> there_ = false;
  std::atomic<std::size_t> waiting_ = 0;
  store_thread<question> thread_;
};

}  // namespace muster::server
