#include "server/core/api/attempt_record.hpp"

#include "base/enum_names.hpp"

namespace muster::core {

std::string_view name(stack_state s) {
  static constexpr std::string_view names[] = {"UNKNOWN",   "TAKEN",     "NOT_PYTHON", "STOPPED",
                                               "IN_KERNEL", "NO_ANSWER", "OFF",        "AWAY",
                                               "BUSY",      "NATIVE"};
  return named<stack_state::native>(names, s);
}

std::string_view name(attempt_event e) {
  static constexpr std::string_view names[] = {"TASK_FAILED", "BARRIER_FAILED", "WORKER_LOST",
                                               "WORKER_BACK", "HANGS",          "MOVES_AGAIN"};
  return named<attempt_event::moves_again>(names, e);
}

}  // namespace muster::core
