#include "server/history/rows/session_rows.hpp"

namespace muster::history {

void session_rows::fold(changes const& c) {
  if (!c.places.empty()) places_.learn(c);
  for (auto const& s : c.sessions) {
    if (!traits_of(s.kind).generations) continue;
    auto const [it, fresh] = sessions_.try_emplace(s.session);
    it->second.closed = s.closed;
    if (!fresh) continue;
    it->second.number = numbers_.take();
    rows_.open(it->second.number);
    last_ = {};
  }
  for (auto const& e : c.ended)
    if (e.released) add(e.of, c);
  for (auto const& r : c.released) add(r.of, c);
  for (auto const& s : c.sessions_released)
    if (auto const it = sessions_.find(s.session); it != sessions_.end()) {
      rows_.close(it->second.number);
      numbers_.give_back(it->second.number);
      sessions_.erase(it);
      last_ = {};
    }
  if (!c.places.empty()) places_.forget(c);
}

void session_rows::add(closure_outline const& o, changes const& c) {
  if (o.session != last_ || o.session == session_id{}) {
    auto const it = sessions_.find(o.session);
    if (it == sessions_.end()) return;  // of a job, or of the core's own
    last_ = o.session;
    last_of_ = &it->second;
  }
  if (last_of_->closed && (o.as == closure_state::cancelled || !config_.keeps_ended_sessions()))
    return;
  auto const place = places_.of(o.place);
  auto* const row = rows_.begin(last_of_->number, place);
  if (!row) return;
  *row = {o.closure,
          o.created,
          o.started,
          o.finished,
          o.order,
          place,
          names_.of(o.function),
          o.attempt & 0xffffff,
          static_cast<std::uint32_t>(o.as)};
  if (o.as != closure_state::succeeded) rows_.add(last_of_->number, c.failures[o.failure]);
}

}  // namespace muster::history
