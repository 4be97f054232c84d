// The words for programs' states and kinds, and their ids as people see them.
#include <algorithm>
#include <cstdint>

#include "base/enum_names.hpp"
#include "base/text.hpp"
#include "server/core/api/program_views.hpp"

namespace muster::core {

std::string text(program_id id) {
  return "prog_" + hex16(raw(id));
}

void describe_losses(program_view& p, time_point now) {
  auto const seconds = [](duration d) {
    auto const whole = std::chrono::duration_cast<std::chrono::seconds>(d).count();
    return std::to_string(std::max<std::int64_t>(whole, 0)) + " s";
  };
  for (auto& l : p.lost_workers) {
    l.text = l.worker + " on " + l.host + " is lost since " + seconds(now - l.since) + "; its " +
             (l.ranks == 1 ? "rank is" : "ranks are") + " given up in " +
             seconds(l.given_up - now) + " (--program-lease), then ";
    if (l.next_attempt == 0) {
      l.text += "the program ends";
      continue;
    }
    l.text += "attempt " + std::to_string(l.next_attempt) + " begins";
    for (std::size_t i = 0; i < l.next_hosts.size(); ++i)
      l.text += (i == 0 ? " on " : ", ") + l.next_hosts[i];
  }
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
