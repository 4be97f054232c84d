// Counters and timers of closures for /metrics, since the start of this process. Owned by a
// cluster's history; used only on the engine thread. Limits: one entry per session with a full
// queue, and one per lost task.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

#include "server/core/api/effects.hpp"
#include "server/history/metrics/histogram.hpp"

namespace muster::history {

using namespace muster::core;

struct closure_metrics {
  histogram queue_wait;  // time from when a closure is ready until it is sent to a worker
  histogram execution;   // time from sending a closure to a worker until its answer
  histogram total;       // time from scheduling a closure until its end
  histogram value_wait;  // time from requesting a value until it is available
  histogram recovery;    // time from the loss of a task until it is attached again
  std::uint64_t worker_failures = 0;  // lost workers, except after a graceful disconnect
  std::uint64_t stop_requests = 0;    // closures that workers were asked to stop
  std::uint64_t retracted = 0;        // closures returned by a worker that had prefetched them
  std::uint64_t values_written = 0;
  std::uint64_t values_read = 0;
  std::array<std::uint64_t, enum_size<release_reason>> values_dropped{};
  // Total time with at least one full queue, without the current period.
  duration full{};
  time_point full_since = never;  // start of the current period; `never` if no queue is full

  closure_metrics& add(closure_metrics const& o, time_point now) {
    queue_wait += o.queue_wait, execution += o.execution, total += o.total;
    value_wait += o.value_wait, recovery += o.recovery;
    worker_failures += o.worker_failures, stop_requests += o.stop_requests;
    retracted += o.retracted, values_written += o.values_written, values_read += o.values_read;
    for (std::size_t n = 0; n < values_dropped.size(); ++n)
      values_dropped[n] += o.values_dropped[n];
    full += o.full;
    if (o.full_since != never) full += now - o.full_since;
    return *this;
  }
};

class closure_meter {
 public:
  void fold(effects const& fx, time_point now);

  closure_metrics const& metrics() const { return metrics_; }

  std::string invalid() const;

 private:
  void count_task(task_changed const& t, time_point now);
  void count_values(changes const& c);
  void count_sessions(changes const& c, time_point now);
  void set_full(session_id s, bool full, time_point now);

  closure_metrics metrics_;
  std::unordered_set<session_id> full_;
  // Time of the loss, by task.
  std::map<std::pair<std::string, std::int64_t>, time_point> lost_;
};

}  // namespace muster::history
