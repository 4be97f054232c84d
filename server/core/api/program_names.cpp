// The words for programs' states and kinds, and their ids as people see them.
#include "base/enum_names.hpp"
#include "base/text.hpp"
#include "server/core/api/program_views.hpp"

namespace muster::core {

std::string text(program_id id) {
  return "prog_" + hex16(raw(id));
}

std::string rank_label(std::uint32_t rank, std::string_view task) {
  auto label = "rank " + std::to_string(rank);
  if (!task.empty() && task != "worker:" + std::to_string(rank))
    label.append(" (").append(task).append(")");
  return label;
}

std::string_view name(program_state s) {
  static constexpr std::string_view names[] = {"PENDING",  "STARTING",  "RUNNING", "RESTARTING",
                                               "STOPPING", "SUCCEEDED", "FAILED",  "CANCELLED"};
  return named<program_state::cancelled>(names, s);
}

std::string_view name(program_end e) {
  static constexpr std::string_view names[] = {"NONE",      "SUCCEEDED", "FAILED", "LOST",
                                               "CANCELLED", "PREEMPTED", "HUNG"};
  return named<program_end::hung>(names, e);
}

std::string_view name(cause_kind k) {
  static constexpr std::string_view names[] = {
      "EXIT_STATUS", "SIGNAL",   "OUT_OF_MEMORY", "NOT_STARTED",  "WORKER_LOST",
      "WORKER_LEFT", "DEADLINE", "REQUEST",       "COORDINATION", "HANG"};
  return named<cause_kind::hang>(names, k);
}

std::string_view name(rank_state s) {
  static constexpr std::string_view names[] = {"STARTING", "RUNNING", "SUCCEEDED", "FAILED",
                                               "STOPPED"};
  return named<rank_state::stopped>(names, s);
}

}  // namespace muster::core
