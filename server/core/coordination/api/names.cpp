// What enumerators are called in texts and on the outside.
#include "base/enum_names.hpp"
#include "server/core/coordination/api/views.hpp"

namespace muster::core::coordination {

std::string_view name(generation_state s) {
  static constexpr std::string_view names[] = {"WAITING", "REGISTERING", "RUNNING", "FAILED",
                                               "FINISHED"};
  return named<generation_state::finished>(names, s);
}

std::string_view name(agent_health h) {
  static constexpr std::string_view names[] = {"MISSING", "REGISTERING", "CONNECTED",
                                               "LATE",    "ERROR",       "DISCONNECTED"};
  return named<agent_health::disconnected>(names, h);
}

std::string_view name(barrier_state s) {
  static constexpr std::string_view names[] = {"RUNNING", "PASSED", "FAILED"};
  return named<barrier_state::failed>(names, s);
}

std::string_view name(remark_kind k) {
  static constexpr std::string_view names[] = {
      "generation_started", "generation_failed", "generation_ended", "cluster_ready",
      "cluster_changed",    "task_error",        "task_restarted",   "task_left",
      "barrier_failed",     "barriers_failed",   "barrier_stuck"};
  return named<remark_kind::barrier_stuck>(names, k);
}

}  // namespace muster::core::coordination
