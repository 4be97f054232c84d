// What enumerators are called in texts and on the outside.
#include "base/enum_names.hpp"
#include "server/core/coordination/api/views.hpp"

namespace muster::core::coordination {

std::string_view name(generation_state s) {
  return named<generation_state::finished>(
      {"WAITING", "REGISTERING", "RUNNING", "FAILED", "FINISHED"}, s);
}

std::string_view name(agent_health h) {
  return named<agent_health::disconnected>(
      {"MISSING", "REGISTERING", "CONNECTED", "LATE", "ERROR", "DISCONNECTED"}, h);
}

std::string_view name(barrier_state s) {
  return named<barrier_state::failed>({"RUNNING", "PASSED", "FAILED"}, s);
}

std::string_view name(log_event_kind k) {
  return named<log_event_kind::notice_unheard>(
      {"generation_started", "generation_failed", "generation_ended", "cluster_ready",
       "cluster_changed", "task_error", "task_restarted", "task_left", "barrier_failed",
       "barriers_failed", "barrier_stuck", "notice_unheard"},
      k);
}

}  // namespace muster::core::coordination
