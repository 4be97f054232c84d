#include "web/alerts/alerts.hpp"

#include <algorithm>

namespace muster::web {

std::string key_of(alert const& i) {
  return i.rule + " " + i.subject;
}

void members(member_list const& m, alert const& i) {
  m("rule", i.rule);
  m.word("severity", i.severity == alert_severity::error ? "error" : "warning",
         {"error", "warning"});
  m("title", i.title);
  m("detail", i.detail);
  m("since_ms", i.since == core::never ? core::time_point() : i.since);
  m("count", i.count);
  m("link", i.link, "path of the dashboard page, including its query string");
  m.some(
      "command", i.command,
      "command that fixes or explains the problem; replace HOST with the host name of the server");
}

std::vector<alert> alerts_of(alert_facts const& f) {
  alerts items;
  journal_fails(f.journal, items);
  disk_full(f.journal, items);
  tokens_ignored(f, items);
  for (auto const& p : f.pools) {
    lost_tasks(p, items);
    failed_jobs(p, items);
    failed_sessions(p, items);
    failed_programs(p, items);
    hung_programs(p, items);
    waiting_programs(p, f, items);
    without_worker(p, f, items);
    unmet_demands(p, items);
    impossible_gangs(p, items);
    nothing_finishes(p, items);
    closures_exclusive(p, items);
    failing_builds(p, items);
    late_tasks(p, f, items);
    nearly_full(p, items);
    disk_fails(p, items);
    short_of_memory(p, items);
  }
  for (auto const& a : f.agents) {
    failed_run(a, items);
    agents_in_error(a, items);
    missing_agents(a, f, items);
    stuck_barriers(a, items);
    unheard_notices(a, items);
    late_agents(a, f, items);
  }
  std::stable_sort(items.begin(), items.end(), [](auto const& a, auto const& b) {
    return a.severity != b.severity ? a.severity < b.severity : a.since < b.since;
  });
  return items;
}

}  // namespace muster::web
