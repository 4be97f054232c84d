#include "server/core/coordination/transitions/preemption_notices.hpp"

namespace muster::core::coordination {

void preemption_notices::tell(std::vector<task_index> const& of, bool set) {
  if (of.empty()) return;
  step_.tell(incidents::notice_unheard{of.size() == 1 ? step_.task_name(of.front()) : std::string(),
                                       words_.names(of), set});
}

void preemption_notices::tell_deaf() {
  tell(listeners_.take_untold(), false);
}

void preemption_notices::notice_set() {
  tell(listeners_.unheard(), true);
}

unheard_notices preemption_notices::unheard() const {
  unheard_notices u;
  auto const deaf = listeners_.deaf();
  u.count = deaf.size();
  for (auto const t : deaf) {
    if (u.first.size() == unheard_notices::first_max) break;
    u.first.push_back(step_.task_name(t));
  }
  if (u.count > 0) u.since = listeners_.since();
  u.notice_is_set = is_set();
  return u;
}

}  // namespace muster::core::coordination
