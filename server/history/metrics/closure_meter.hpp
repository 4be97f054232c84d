// What is counted and timed of closures for /metrics: a listener that adds up changes.
//
// What an earlier process of the server has counted is not counted again. Owned by the history of a
// cluster; engine thread only. Limits: numbers, the ids of sessions whose queue is full, and the
// tasks that are lost, which the core bounds (config::sessions_max, tasks_max).
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

using namespace muster::core;  // what is folded has the core's words

struct closure_metrics {
  histogram queue_wait;  // ready to run (scheduled, delay over, requeued) → sent to a worker
  histogram execution;   // sent to a worker → answered by it, whatever the answer
  histogram total;       // scheduled → ended, however it ended
  histogram value_wait;  // a value was asked for → it was there; 0 when it was there already
  histogram recovery;    // a task was lost → it attached again
  std::uint64_t worker_failures = 0;  // workers that were lost; good-byes are not among them
  std::uint64_t stop_requests = 0;    // closures that workers were asked to stop
  std::uint64_t retracted = 0;        // prefetched to one worker, given back for another
  std::uint64_t values_written = 0;   // to the disk
  std::uint64_t values_read = 0;      // back from there
  std::array<std::uint64_t, enum_size<release_reason>>
      values_dropped{};           // by reason; with their jobs or not
  duration full{};                // while at least one stream's queue was full, up to…
  time_point full_since = never;  // …now, when one is: since then

  /// With another's of the same server, as of `now`.
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
  /// Takes what a step at `now` has said.
  void fold(effects const& fx, time_point now);

  /// The reference stays valid; its content changes with steps.
  closure_metrics const& metrics() const { return metrics_; }

  /// Empty when all is in order between two steps.
  std::string invalid() const;

 private:
  void count_task(task_changed const& t, time_point now);
  void count_values(changes const& c);
  void count_sessions(changes const& c, time_point now);
  void set_full(session_id s, bool full, time_point now);

  closure_metrics metrics_;
  std::unordered_set<session_id> full_;                              // whose queue is full
  std::map<std::pair<std::string, std::int64_t>, time_point> lost_;  // tasks, since when
};

}  // namespace muster::history
