// What happens at a time of its own: a delayed start, a deadline of a closure or a job, a
// worker that is away or starts later. Every entry belongs to a living closure, gang, job or worker
// and goes with it, so their limits bound this too. Owned by the coordinator's state.
#pragma once

#include <set>
#include <tuple>

#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

enum class alarm_kind : std::uint8_t {
  start,             ///< a queued closure may be dispatched
  closure_deadline,  ///< a closure must have finished
  job_deadline,      ///< a job must have finished
  session_lease,     ///< a session's client must have come back
  worker_return,     ///< a closure waits no longer for a worker that is away
  worker_start,      ///< a worker's staggered start
  gang,              ///< a gang has waited long enough
  value_age,         ///< a finished job, or the oldest value a session holds, is too old
};

struct alarm {
  time_point at = never;
  alarm_kind kind = alarm_kind::start;
  std::uint64_t id = 0;  // of the closure, the session or the stream

  auto operator<=>(alarm const&) const = default;
};

class alarms {
 public:
  void set(time_point at, alarm_kind kind, std::uint64_t id) { all_.insert({at, kind, id}); }
  void clear(time_point at, alarm_kind kind, std::uint64_t id) { all_.erase({at, kind, id}); }
  time_point next() const { return all_.empty() ? never : all_.begin()->at; }
  /// REQUIRES: next() != never.
  alarm pop() { return all_.extract(all_.begin()).value(); }
  std::size_t size() const { return all_.size(); }

 private:
  std::set<alarm> all_;
};

}  // namespace muster::core
