// Asks a resolver again and again on a thread of its own, and tells what changes.
//
// Handlers are called on that thread, one at a time, never after stop() has returned. They must not
// throw, and must not stop the watch themselves. A failing resolver is asked again after a delay
// that doubles; what it said last stays valid meanwhile.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "muster/cluster_error.hpp"
#include "muster/cluster_resolver.hpp"

namespace muster {

class cluster_watch {
 public:
  struct options {
    std::chrono::milliseconds interval = std::chrono::seconds(30);
    /// After the first failure in a row, and the most after many.
    std::chrono::milliseconds retry_first = std::chrono::seconds(1);
    std::chrono::milliseconds retry_max = std::chrono::minutes(1);
  };

  struct handlers {
    /// The first answer, and each that differs from the one before.
    std::function<void(cluster_spec const&)> changed;
    /// The first failure, and each whose line differs from the one before.
    std::function<void(cluster_error const&)> failed = {};
    /// The first answer after a failure, before `changed` if it is called at all.
    std::function<void()> recovered = {};
  };

  /// Starts. `known`: what the caller has already; the first answer is told only if it differs.
  cluster_watch(std::shared_ptr<cluster_resolver> resolver, options o, handlers h,
                std::optional<cluster_spec> known = {});
  cluster_watch(std::shared_ptr<cluster_resolver> resolver, handlers h)
      : cluster_watch(std::move(resolver), {}, std::move(h)) {}
  /// Stops, as below.
  ~cluster_watch() { stop(); }
  cluster_watch(cluster_watch const&) = delete;

  /// Asks at once instead of at the next interval.
  void refresh();
  /// Asks it to stop, without waiting; stop() follows.
  void request_stop();
  /// No handler runs after it. Waits for the resolver to come back from a call, but no longer than
  /// `patience`: false, and the thread with the resolver is left to end by itself. Idempotent.
  bool stop(std::chrono::milliseconds patience = std::chrono::seconds(10));

 private:
  struct state;
  static void run(std::shared_ptr<state> s);

  std::shared_ptr<state> state_;
  std::thread thread_;
};

/// How long to wait after so many failures in a row; 0: the interval.
std::chrono::milliseconds delay_after(cluster_watch::options const& o, unsigned failures);

}  // namespace muster
