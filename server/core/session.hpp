// One user of schedule/join/fetch: its queue, its counts, its error. Over REST a session is a job.
//
//            schedule…            seal, nothing left
//   running ───────────► running ───────────────────► succeeded | failed (on_error: continue)
//      │ first error (fail_fast) or cancel
//      ▼
//   running, stopping: queued ones are cancelled, running ones asked to stop
//      │ nothing runs any more
//      ▼
//   failed | cancelled        (a streaming session starts its next generation instead)
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "server/core/api/views.hpp"
#include "server/core/closure_table.hpp"
#include "server/core/ring.hpp"
#include "server/core/value_ledger.hpp"

namespace muster::core {

/// The queued closures of one function, priority and requirement, in schedule order.
struct lane {
  function_id function{};
  std::int32_t priority = 0;
  std::uint32_t requirement = 0;  // in the requirement_table; 0: none
  bool single = false;            // takes resources: what fits changes with each closure
  std::uint32_t apart = 0;        // closures that will come here once their wait is over
  slot_list queue;

  bool waits() const { return queue.size > 0 || apart > 0; }
};

struct session {
  session_id id{};
  session_spec spec;
  std::size_t capacity = 0;
  std::uint32_t max_worker_failures = 0;  // 0: no limit

  std::vector<lane> lanes;
  using lane_key = std::tuple<function_id, std::int32_t, std::uint32_t>;
  std::map<lane_key, std::uint32_t> lane_of;
  slot_list apart;             // closures that wait for a time or an input, not for a worker
  std::vector<slot> closures;  // by order; only when values are kept
  std::uint32_t scheduled = 0;

  job_state state = job_state::running;
  bool sealed = false;
  bool stopping = false;  // an error or a cancel is being drained
  bool user_cancelled = false;
  bool closed = false;           // the client is gone; erased when drained
  bool full = false;             // told to hold back; a notice follows
  bool owns_per_worker = false;  // values that go with it
  bool unsettled = false;        // listed to be settled at the end of the step
  std::uint32_t generation = 1;
  std::optional<failure> first_error;  // of this generation

  // Of a holding session.
  std::unordered_map<std::uint64_t, closure_id> by_token;  // records that are not released
  slot_list held;                                          // ended records that stay
  std::optional<failure> raised;  // of the newest generation that failed and has drained
  std::uint32_t raised_generation = 0;
  id_queue values;                 // that it holds, oldest first
  std::uint64_t live_values = 0;   // of those, neither released nor dropped
  std::uint64_t repeating = 0;     // outcomes that are asked for again, while values are read back
  bool attached = false;           // a stream serves it
  time_point lease_until = never;  // without a sign of its client
  time_point lease_alarm = never;  // set for then or earlier
  /// When each dependency was reported lost, oldest first; limits: config.dependencies_max names,
  /// config.transient_dependency_failures times each.
  std::map<std::string, std::deque<time_point>> dependency_reports;
  std::deque<time_point> timeout_reports;  // at most as many as are borne

  closure_counts counts;
  std::uint64_t put_back = 0;
  std::uint64_t retried = 0;
  std::uint32_t turns_left = 0;  // in a row, before another session's
  time_point deadline = never;
  std::uint64_t value_bytes = 0;    // in memory
  std::uint64_t spilled_bytes = 0;  // on the disk
  time_point age_alarm = never;     // a value, or the job, is too old then
  time_point created{};
  time_point finished{};
  std::vector<call_id> joins;

  std::vector<ring_link<session>> turns;  // by placement class: waiting for a turn there

  std::uint64_t waiting() const { return counts.queued + counts.blocked; }
  bool holding() const { return spec.hold_values; }
  bool idle() const { return counts.queued + counts.running + counts.blocked + repeating == 0; }
  bool terminal() const { return state != job_state::running; }

  /// New lanes come last in `lanes`.
  std::uint32_t lane_for(function_id f, std::int32_t priority = 0, std::uint32_t requirement = 0) {
    if (!lanes.empty()) {
      auto const& newest = lanes.back();
      if (newest.function == f && newest.priority == priority && newest.requirement == requirement)
        return static_cast<std::uint32_t>(lanes.size() - 1);
    }
    auto const [it, created_now] = lane_of.try_emplace(lane_key{f, priority, requirement},
                                                       static_cast<std::uint32_t>(lanes.size()));
    if (created_now) lanes.push_back({f, priority, requirement, false, 0, {}});
    return it->second;
  }
};

}  // namespace muster::core
