// What enumerators are called in texts and on the outside.
#include "server/core/coordination/api/views.hpp"

namespace muster::core::coordination {

std::string_view name(generation_state s) {
  switch (s) {
    case generation_state::waiting:
      return "WAITING";
    case generation_state::registering:
      return "REGISTERING";
    case generation_state::running:
      return "RUNNING";
    case generation_state::failed:
      return "FAILED";
    case generation_state::finished:
      return "FINISHED";
  }
  return "?";
}

std::string_view name(agent_health h) {
  switch (h) {
    case agent_health::missing:
      return "MISSING";
    case agent_health::registering:
      return "REGISTERING";
    case agent_health::connected:
      return "CONNECTED";
    case agent_health::late:
      return "LATE";
    case agent_health::error:
      return "ERROR";
    case agent_health::disconnected:
      return "DISCONNECTED";
  }
  return "?";
}

std::string_view name(barrier_state s) {
  switch (s) {
    case barrier_state::running:
      return "RUNNING";
    case barrier_state::passed:
      return "PASSED";
    case barrier_state::failed:
      return "FAILED";
  }
  return "?";
}

}  // namespace muster::core::coordination
