#include "web/attention/attention.hpp"

#include <algorithm>

namespace muster::web {

std::string_view name(attention_severity s) {
  return s == attention_severity::error ? "error" : "warning";
}

std::vector<attention_item> attention(attention_facts const& f) {
  attention_items items;
  journal_fails(f.journal, items);
  for (auto const& p : f.pools) {
    lost_tasks(p, items);
    failed_jobs(p, items);
    without_worker(p, f, items);
    unmet_wishes(p, items);
    impossible_gangs(p, items);
    nothing_finishes(p, items);
    closures_alone(p, items);
    late_tasks(p, f, items);
    nearly_full(p, items);
    disk_fails(p, items);
  }
  for (auto const& a : f.agents) {
    failed_run(a, items);
    agents_in_error(a, items);
    missing_agents(a, f, items);
    stuck_barriers(a, items);
    late_agents(a, f, items);
  }
  std::stable_sort(items.begin(), items.end(), [](auto const& a, auto const& b) {
    return a.severity != b.severity ? a.severity < b.severity : a.since < b.since;
  });
  return items;
}

}  // namespace muster::web
