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

std::string_view name(remark_kind k) {
  switch (k) {
    case remark_kind::generation_started:
      return "generation_started";
    case remark_kind::generation_failed:
      return "generation_failed";
    case remark_kind::generation_ended:
      return "generation_ended";
    case remark_kind::cluster_ready:
      return "cluster_ready";
    case remark_kind::cluster_changed:
      return "cluster_changed";
    case remark_kind::task_error:
      return "task_error";
    case remark_kind::task_restarted:
      return "task_restarted";
    case remark_kind::task_left:
      return "task_left";
    case remark_kind::barrier_failed:
      return "barrier_failed";
    case remark_kind::barriers_failed:
      return "barriers_failed";
    case remark_kind::barrier_stuck:
      return "barrier_stuck";
  }
  return "?";
}

}  // namespace muster::core::coordination
