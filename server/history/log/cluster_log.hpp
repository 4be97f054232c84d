// Converts incidents of coordination clusters to log events. If many failures happen at the same
// time, only the first failures have their own events. Owned by the coordination hub; used only on
// the engine thread. Contains the events of one step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/coordination/api/coordination_changes.hpp"
#include "server/core/coordination/api/coordination_effects.hpp"

namespace muster::history {

using muster::name;

namespace coordination = core::coordination;

enum class cluster_event_kind : std::uint8_t {
  generation_started = 0,
  generation_failed = 1,
  generation_ended = 2,
  cluster_ready = 3,
  cluster_changed = 4,
  task_error = 5,
  task_restarted = 6,
  task_left = 7,
  barrier_failed = 8,
  barriers_failed = 9,  ///< one event for all further barriers that failed at the same time
  barrier_stuck = 10,
  notice_unheard = 11,
  port_changed = 12,
};
constexpr auto enum_names(cluster_event_kind) {
  using enum cluster_event_kind;
  return enumerators<cluster_event_kind>(
      generation_started, "generation_started", generation_failed, "generation_failed",
      generation_ended, "generation_ended", cluster_ready, "cluster_ready", cluster_changed,
      "cluster_changed", task_error, "task_error", task_restarted, "task_restarted", task_left,
      "task_left", barrier_failed, "barrier_failed", barriers_failed, "barriers_failed",
      barrier_stuck, "barrier_stuck", notice_unheard, "notice_unheard", port_changed,
      "port_changed");
}

struct cluster_event {
  coordination::severity severity = coordination::severity::info;
  cluster_event_kind kind{};
  std::string cluster;
  std::string about;  ///< task or barrier; may be empty
  std::string text;
};

class cluster_log {
 public:
  static constexpr std::size_t singly =
      20;  ///< maximum number of separate events per kind, cluster and step

  void fold(coordination::changes const& c) {
    pending_events_.clear();
    if (!c.incidents.empty()) tell(c.incidents);
  }
  std::vector<cluster_event> const& pending_events() const { return pending_events_; }

 private:
  void tell(std::vector<coordination::incident> const& all);

  std::vector<cluster_event> pending_events_;
};

}  // namespace muster::history
