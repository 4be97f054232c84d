#include "server/hub/session_hub.hpp"

namespace muster::server {

void session_hub::attach(core::session_id session, session_sink& sink) {
  auto& s = sessions_[session];
  if (s.sink) s.sink->on_replaced();
  s = {&sink, core_.is_durable(session), s.behind};
}

session_sink* session_hub::sink(core::session_id session) const {
  auto const it = sessions_.find(session);
  return it == sessions_.end() ? nullptr : it->second.sink;
}

void session_hub::remove_all(muster::status const& why) {
  for (auto const& [session, s] : std::exchange(sessions_, {})) s.sink->on_removed(why);
}

void session_hub::deliver(core::effects const& fx) {
  bool const changed = !fx.facts.empty();
  events all;
  auto* const held = changed || !gate_.is_idle() ? &all : nullptr;
  deliver_notices(fx.notices, true, held);
  deliver_outcomes(fx.outcomes, held);
  for (auto const s : fx.released) gate_.forget(s);
  deliver_notices(fx.notices, false, held);
  if (all.failures.empty() && all.outcomes.empty() && all.ends.empty()) return;
  gate_.hold(changed, [this, all = std::move(all)](auto const& lost) { deliver_held(all, lost); });
}

// Consecutive outcomes often belong to the same session, so the session is looked up only once.
void session_hub::deliver_outcomes(std::vector<core::outcome> const& outcomes, events* held) {
  served* to = nullptr;
  bool wait = false;
  core::session_id of{};
  for (auto const& o : outcomes) {
    if (o.session != of) {
      auto const it = sessions_.find(o.session);
      to = it == sessions_.end() ? nullptr : &it->second;
      wait = held && to && waits(o.session, *to);
      if (wait) to->behind = gate_.written();
      of = o.session;
    }
    if (!to) continue;
    if (wait)
      held->outcomes.push_back(o);
    else
      to->sink->on_outcome(o);
  }
}

void session_hub::deliver_notices(std::vector<core::session_notification> const& notices,
                                  bool failed, events* held) {
  for (auto const& n : notices) {
    if ((n.kind == core::notice_kind::failed) != failed) continue;
    auto const it = sessions_.find(n.session);
    if (it == sessions_.end()) continue;
    auto& to = it->second;
    if (held && waits(n.session, to) && n.kind != core::notice_kind::room) {
      to.behind = gate_.written();
      (failed ? held->failures : held->ends).push_back(n);
    } else {
      to.sink->on_notice(n);
    }
  }
}

// After a disk failure, even events of a step without changes can depend on lost records.
void session_hub::deliver_held(events const& all, muster::status const& lost) {
  auto const failed = gate_.failure();
  if (lost.ok() && failed.ok()) {
    deliver_notices(all.failures, true, nullptr);
    deliver_outcomes(all.outcomes, nullptr);
    return deliver_notices(all.ends, false, nullptr);
  }
  auto const cut = [&](auto const& events) {
    for (auto const& e : events)
      if (auto* const to = sink(e.session)) to->on_journal_failure(failed);
  };
  cut(all.failures);
  cut(all.outcomes);
  cut(all.ends);
}

void session_hub::run_after_pending_commits(core::session_id session, std::function<void()> then) {
  auto const it = sessions_.find(session);
  if (it == sessions_.end() || !it->second.durable) return then();
  gate_.hold(true, [this, session, then = std::move(then)](auto const& lost) {
    if (lost.ok()) return then();
    if (auto* const to = sink(session)) to->on_journal_failure(lost);
  });
}

bool session_hub::is_paused(core::session_id session) const {
  auto const it = sessions_.find(session);
  return it != sessions_.end() && it->second.durable && gate_.failure().ok() &&
         !gate_.refusal().ok();
}

}  // namespace muster::server
