// Context of a step of one generation: time, output, waiting calls, declaration and limits.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "server/core/coordination/api/coordination_changes.hpp"
#include "server/core/coordination/api/coordination_effects.hpp"
#include "server/core/coordination/api/coordination_limits.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"
#include "server/core/coordination/api/requests.hpp"
#include "server/core/coordination/waiting_call.hpp"

namespace muster::core::coordination {

struct generation {
  std::uint64_t number = 1;
  core::incarnation incarnation{};
};

/// The service's own barriers, which callers must not start by id.
struct own_barriers {
  explicit own_barriers(core::incarnation service)
      : registration("[Init]Wait_for_all_tasks_to_register"),
        shutdown("Shutdown::" + std::to_string(raw(service))),
        devices("WaitForAllTasks::" + std::to_string(raw(service))) {}

  std::string const registration, shutdown, devices;
  bool contain(std::string_view id) const {
    return id == registration || id == shutdown || id == devices;
  }
};

struct step_frame {
  step_frame(cluster_spec const& s, coordination::limits const& l, generation g, change_log log)
      : spec(s), limits(l), which(g), own(g.incarnation), changes(log) {}

  cluster_spec const spec;
  coordination::limits const limits;
  generation const which;
  own_barriers const own;
  change_log const changes;
  calls_of_generation calls;
  time_point now{};
  bool stopped = false;

  void begin(time_point t, effects& fx) {
    now = t;
    fx_ = &fx;
  }
  void answer(call_id call, fault_ptr f) { fx_->replies.push_back({call, std::move(f), {}}); }
  template <class Body>
  void answer(call_id call, Body body) {
    fx_->replies.push_back({call, nullptr, std::move(body)});
  }
  void refuse(caller const& from, code c, std::string_view message, bool coordination = true) {
    answer(from.call, refusal(c, message, coordination));
  }
  template <class Incident>
  void report_incident(Incident i) {
    fx_->changes.incidents.push_back({spec.name, std::move(i)});
  }
  std::string task_name(task_index t) const { return spec.task_name(t); }

  bool full() const { return calls.size() >= limits.parked_calls_max; }
  /// Refuses the call if too many calls are parked. Returns whether the call was refused.
  bool refused_as_full(caller const& from) {
    if (full())
      refuse(from, code::resource_exhausted, "the cluster has reached its limit on waiting calls");
    return full();
  }
  /// Parks the call. For `what`, see waiting_call. REQUIRES: not full().
  void park(caller const& from, wait_kind kind, task_index t, std::uint64_t what) {
    waiting_call w{kind, t, what, now, never};
    if (from.deadline != never) {
      auto const left = std::max(from.deadline, now) - now;
      auto const margin = std::clamp(left / 20, limits.answer_margin_min, limits.answer_margin_max);
      w.deadline = now + left - std::min(margin, left / 2);
    }
    calls.park(from.call, w);
  }

 private:
  effects* fx_ = nullptr;
};

}  // namespace muster::core::coordination
