// Which incidents of clusters of agents become log events, and in which words: a listener of the
// coordination core's changes. Of barriers that break, and of tasks that fail, at one moment the
// first are told.
//
// Owned by the coordination hub; engine thread only. Limit: what it says of one step is bounded by
// that step's event, and gone with the next.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/coordination/api/coordination_changes.hpp"
#include "server/core/coordination/api/coordination_effects.hpp"

namespace muster::history {

namespace coordination = core::coordination;

enum class cluster_event_kind : std::uint8_t {
  generation_started,
  generation_failed,
  generation_ended,
  cluster_ready,
  cluster_changed,
  task_error,
  task_restarted,
  task_left,
  barrier_failed,
  barriers_failed,  ///< more of them at the same moment than are told one by one
  barrier_stuck,
  notice_unheard,
  port_changed,
};

std::string_view name(cluster_event_kind);  // "barrier_failed"

/// A line for the log and for the feed of events.
struct cluster_event {
  coordination::severity severity = coordination::severity::info;
  cluster_event_kind kind{};
  std::string cluster;  ///< its name
  std::string about;    ///< the task or barrier, may be empty
  std::string text;
};

class cluster_log {
 public:
  static constexpr std::size_t singly = 20;  ///< of one kind, of one cluster, in one step

  void fold(coordination::changes const& c) {
    said_.clear();
    if (!c.incidents.empty()) tell(c.incidents);
  }
  /// Of the last step, in the order in which it happened.
  std::vector<cluster_event> const& said() const { return said_; }

 private:
  void tell(std::vector<coordination::incident> const& all);

  std::vector<cluster_event> said_;
};

}  // namespace muster::history
