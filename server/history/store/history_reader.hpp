// Reads the history on disk on its own thread, so that long searches do not block the engine or the
// web server. Owned by the app. Each question must limit how much it reads.
#pragma once

#include <atomic>
#include <functional>

#include "base/status.hpp"
#include "server/disk/store_thread.hpp"
#include "server/history/store/history_store.hpp"

namespace muster::server {

class history_reader {
 public:
  /// Maximum number of waiting questions. Further questions are rejected.
  static constexpr std::size_t questions_max = 8;

  using question = std::function<void(history_store const&)>;

  /// @pre The store must outlive the object.
  void start(history_store const& store);
  /// Drops waiting questions. Has no effect if the reader was not started.
  void stop() { thread_.stop(false); }

  // The following functions are thread-safe and can be called before `start`.
  bool there() const { return there_; }
  ///
  /// @return FAILED_PRECONDITION if there is no store, RESOURCE_EXHAUSTED if too many questions are
  ///   waiting, UNAVAILABLE if the reader has been stopped
  muster::status ask(question q);

 private:
  std::atomic<bool> there_ = false;
  std::atomic<std::size_t> waiting_ = 0;
  store_thread<question> thread_;
};

}  // namespace muster::server
