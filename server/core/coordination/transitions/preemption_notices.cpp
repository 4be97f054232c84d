#include "server/core/coordination/transitions/preemption_notices.hpp"

namespace muster::core::coordination {

void preemption_notices::tell(severity s, std::vector<task_index> const& of,
                              std::string const& text) {
  step_.tell(s, log_event_kind::notice_unheard,
             of.size() == 1 ? step_.task_name(of.front()) : std::string(),
             text +
                 ". JAX does not wait again by itself; muster.jax.renew_preemption_sync() in "
                 "each of them does");
}

void preemption_notices::tell_deaf() {
  auto const deaf = listeners_.take_untold();
  if (deaf.empty()) return;
  tell(severity::warning, deaf,
       words_.names(deaf) + (deaf.size() == 1 ? " hears" : " hear") +
           " no preemption notice any more: the wait for it ended with a connection, or with the "
           "server before");
}

void preemption_notices::notice_set() {
  auto const unheard = listeners_.unheard();
  if (unheard.empty()) return;
  tell(severity::error, unheard,
       "a preemption notice was set, and " + words_.names(unheard) +
           (unheard.size() == 1 ? " does" : " do") +
           " not hear it, so the others wait for them in vain at PREEMPTION_SYNC_BARRIER");
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
