// Who hears of a preemption, by JAX's own key: see notice_listeners. The server cannot keep the
// wait of a connection that is gone, and JAX never makes it again, so who hears nothing is said.
#include "server/core/coordination/service.hpp"

namespace muster::core::coordination {
namespace {

constexpr std::string_view notice_key = "RECEIVED_PREEMPTION_NOTICE";
constexpr auto what_helps =
    ". JAX does not wait again by itself; muster.jax.renew_preemption_sync() in each of them does";

}  // namespace

bool service::is_notice(std::string_view key) {
  return key == notice_key;
}

void service::listen(task_index t) {
  if (t == no_task || roster_[t].state != agent_state::connected) return;
  notices_.waits(t);
  roster_.note_hears(t, true);
}

// A wait of the process before ends with its connection, which may be long after.
void service::listened(waiting_call const& w, bool told) {
  if (w.task != no_task && w.since >= roster_[w.task].registered_at) notices_.over(w.task, told);
}

void service::do_not_listen(task_index t) {
  notices_.forget(t);
  roster_.note_hears(t, false);
}

// It beats, so it lives; and it did listen. Once the notice is set nobody has to wait for it.
void service::check_hearing(task_index t) {
  if (notices_.is_lost(t) && !store_.find(notice_key)) notices_.turn_deaf(t, step_.now);
}

void service::tell_deaf() {
  auto const deaf = notices_.take_untold();
  if (deaf.empty()) return;
  step_.tell(
      severity::warning, remark_kind::notice_unheard,
      deaf.size() == 1 ? step_.task_name(deaf.front()) : std::string(),
      wording_.names(deaf) + (deaf.size() == 1 ? " hears" : " hear") +
          " no preemption notice any more: the wait for it ended with a connection, or with the "
          "server before" +
          what_helps);
}

// REQUIRES: those who waited for it were answered.
void service::notice_set() {
  auto const unheard = notices_.unheard();
  if (unheard.empty()) return;
  step_.tell(severity::error, remark_kind::notice_unheard,
             unheard.size() == 1 ? step_.task_name(unheard.front()) : std::string(),
             "a preemption notice was set, and " + wording_.names(unheard) +
                 (unheard.size() == 1 ? " does" : " do") +
                 " not hear it, so the others wait for them in vain at PREEMPTION_SYNC_BARRIER" +
                 what_helps);
}

unheard_notices service::notices_unheard() const {
  unheard_notices u;
  auto const deaf = notices_.deaf();
  u.count = deaf.size();
  for (auto const t : deaf) {
    if (u.first.size() == unheard_notices::first_max) break;
    u.first.push_back(step_.task_name(t));
  }
  if (u.count > 0) u.since = notices_.since();
  u.notice_is_set = store_.find(notice_key) != nullptr;
  return u;
}

}  // namespace muster::core::coordination
