// Load of the server: delay of the engine thread, and CPU time of the process. Each web_server has
// its own. Used on the web thread; posted probes run on the engine thread.
//
// A probe measures the time between posting a function and running it. While a probe waits, no
// further probe is posted; a late answer therefore counts once for each interval that it missed, as
// if probes had been posted all the time.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>

#include "base/duration_meter.hpp"

namespace muster::web {

class server_load {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds interval{100};
  /// The engine does not respond if a probe has been waiting for this long.
  static constexpr std::chrono::milliseconds silent_after{1000};
  static constexpr std::chrono::seconds window{60};
  /// Posts a function to the engine thread. Returns false if the engine accepts no work.
  using poster = std::function<bool(std::function<void()>)>;

  struct figures {
    bool responding = true;
    std::chrono::microseconds lag_now{};  // of the waiting probe, or else of the last one
    duration_meter::recent lag{};         // the longest lag includes the waiting probe
    double busy_cores = 0;                // mean of the last minute
  };

  /// Measures once. Must be called every `interval`.
  void measure(poster const& post, clock::time_point now = clock::now());
  figures read(clock::time_point now = clock::now());
  /// Returns all lags since the server started.
  duration_counts total_lag() const { return lag_.total(); }

 private:
  struct probe {
    explicit probe(clock::time_point t) : posted(t) {}
    clock::time_point const posted;
    std::atomic<std::int64_t> lag_us{-1};  // -1 until the engine has run the probe
  };
  struct cpu_reading {
    clock::time_point at{};
    double seconds = 0;
  };

  void count_answer(clock::time_point now);
  void count_cpu(clock::time_point now);

  std::shared_ptr<probe> probe_;  // null while no probe waits
  std::chrono::microseconds last_lag_{};
  duration_meter lag_;
  std::deque<cpu_reading> cpu_;  // one a second, during `window`
};

}  // namespace muster::web
