// Polls a resolver on a separate thread and reports changes.
//
// The watch calls handlers on this thread, one at a time, never after stop() has returned. Handlers
// must neither throw nor stop the watch. After a failure, the delay doubles, and the last cluster
// stays valid.
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
    /// Delay after the first of consecutive failures, and maximum delay.
    std::chrono::milliseconds retry_first = std::chrono::seconds(1);
    std::chrono::milliseconds retry_max = std::chrono::minutes(1);
  };

  struct handlers {
    /// Called for the first cluster, and for each cluster that differs from the previous cluster.
    std::function<void(cluster_spec const&)> changed;
    /// Called for the first failure, and for each failure whose message differs from the previous
    /// message.
    std::function<void(cluster_error const&)> failed = {};
    /// Called for the first success after a failure, before `changed`.
    std::function<void()> recovered = {};
  };

  /// Starts polling.
  /// @param resolver called on the watch's thread
  /// @param o interval and limits
  /// @param h called on the watch's thread
  /// @param known a cluster that the caller has already read; the watch does not report an equal
  ///   first result
  cluster_watch(std::shared_ptr<cluster_resolver> resolver, options o, handlers h,
                std::optional<cluster_spec> known = {});
  cluster_watch(std::shared_ptr<cluster_resolver> resolver, handlers h)
      : cluster_watch(std::move(resolver), {}, std::move(h)) {}
  ~cluster_watch() { stop(); }
  cluster_watch(cluster_watch const&) = delete;

  void refresh();
  /// Requests the thread to stop, and returns immediately. stop() must be called afterwards.
  void request_stop();
  /// Stops the thread. No handler is called afterwards. Waits at most `patience` for a running call
  /// to the resolver. Returns false if the call takes longer; the thread then ends with the call.
  /// Idempotent.
  bool stop(std::chrono::milliseconds patience = std::chrono::seconds(10));

 private:
  struct state;
  static void run(std::shared_ptr<state> s);

  std::shared_ptr<state> state_;
  std::thread thread_;
};

/// Returns the delay after this number of consecutive failures. After 0 failures, returns the
/// interval.
std::chrono::milliseconds delay_after(cluster_watch::options const& o, unsigned failures);

}  // namespace muster
