#include "server/core/coordination/transitions/preemption_notices.hpp"

namespace muster::core::coordination {

void preemption_notices::send_notice(std::vector<task_index> const& of, bool set) {
  if (of.empty()) return;
  step_.report_incident(incidents::notice_unheard{
      of.size() == 1 ? step_.task_name(of.front()) : std::string(), descriptions_.names(of), set});
}

void preemption_notices::report_unreachable() {
  send_notice(listeners_.take_unreported(), false);
}

void preemption_notices::notice_set() {
  send_notice(listeners_.unheard(), true);
}

unreachable_tasks preemption_notices::unheard() const {
  unreachable_tasks u;
  auto const deaf = listeners_.deaf();
  u.count = deaf.size();
  for (auto const t : deaf) {
    if (u.first.size() == unreachable_tasks::first_max) break;
    u.first.push_back(step_.task_name(t));
  }
  if (u.count > 0) u.since = listeners_.since();
  u.notice_is_set = is_set();
  return u;
}

}  // namespace muster::core::coordination
