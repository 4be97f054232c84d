#include "server/core/transitions/lifecycle/session_flow.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace muster::core {

void session_flow::renew_lease(session& s, time_point until) {
  if (s.closed) return;
  auto const grace = s.spec.detached && !s.traits().unary ? core_.step.config.detached_grace
                     : s.spec.grace > duration{}          ? s.spec.grace
                                                          : core_.step.config.session_grace;
  auto const end = std::min(until, core_.step.now + core_.step.config.session_grace_max) + grace;
  s.lease_until = s.lease_until == never ? end : std::max(s.lease_until, end);
  if (s.lease_alarm == never) set_lease_alarm(s);  // an earlier alarm renews itself
}

void session_flow::set_lease_alarm(session& s) {
  s.lease_alarm = s.lease_until;
  core_.step.alarms.set(s.lease_alarm, alarm_kind::session_lease, raw(s.id));
}

void session_flow::set_age_alarm(session& s, time_point kept_since) {
  if (core_.step.config.value_age == duration{}) return;
  s.age_alarm = kept_since + core_.step.config.value_age;
  core_.step.alarms.set(s.age_alarm, alarm_kind::value_age, raw(s.id));
}

// The margin prevents a stream from being stopped and restarted for every closure.
bool session_flow::has_reason_to_hold_back(session const& s) const {
  return of(s).waiting() > s.capacity - s.capacity / 4 || of(s).waiting() >= s.capacity ||
         (core_.closures.size() >= core_.step.config.closures_max && !s.traits().resumable);
}

void session_flow::resume_if_room(session& s) {
  if (has_reason_to_hold_back(s)) return;
  core_.sessions.hold_back(s, false);
  core_.step.fx.notices.push_back({s.id, notice_kind::room});
}

// Checks all paused streams, because some have no closures whose moves would resume them. Such
// checks are rare: a resumed stream pauses again only after it has scheduled more closures.
void session_flow::on_free_place() {
  if (core_.closures.size() + 1 != core_.step.config.closures_max) return;
  for (auto const& [id, s] : core_.sessions.all())
    if (s->full) resume_if_room(*s);
}

void session_flow::report_failed(session const& s) {
  bool const job = !s.traits().generations;
  auto const& counts = of(s).counts;
  core_.step.report_incident(incidents::session_failed{s.id, job, s.spec.name, s.first_error->type,
                                                       s.first_error->message, counts.failed,
                                                       counts.total()});
}

}  // namespace muster::core
