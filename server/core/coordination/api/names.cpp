// What enumerators are called in texts and on the outside.
#include "base/enum_names.hpp"
#include "server/core/coordination/api/coordination_views.hpp"

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

}  // namespace muster::core::coordination
