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
  for (std::size_t i = 0; i < c.ended.size();)
    if (c.ended[i].released)
      i = add_run(c, i);
    else
      ++i;
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

session_rows::of_session* session_rows::owner_of(closure_outline const& o) {
  if (o.session != last_ || o.session == session_id{}) {
    auto const it = sessions_.find(o.session);
    if (it == sessions_.end()) return nullptr;  // the closure belongs to a job or the core
    last_ = o.session;
    last_of_ = &it->second;
  }
  bool const unwanted =
      last_of_->closed && (o.as == closure_state::cancelled || !config_.keeps_ended_sessions());
  return unwanted ? nullptr : last_of_;
}

inline ended_row session_rows::row_of(closure_outline const& o, std::uint32_t place) const {
  return {o.closure,
          o.created,
          o.started,
          o.finished,
          o.order,
          place,
          names_.of(o.function),
          o.attempt & 0xffffff,
          static_cast<std::uint32_t>(o.as)};
}

void session_rows::add(closure_outline const& o, changes const& c) {
  auto const* owner = owner_of(o);
  if (!owner) return;
  auto const place = places_.of(o.place);
  auto const room = rows_.room(owner->number, place);
  if (room.empty()) return;
  room[0] = row_of(o, place);
  rows_.wrote(owner->number, 1);
  if (o.as != closure_state::succeeded) rows_.add(owner->number, c.failures[o.failure]);
}

// Adds consecutive closures of one session and worker, so that the data they share is looked up
// only once.
std::size_t session_rows::add_run(changes const& c, std::size_t from) {
  auto const& first = c.ended[from].of;
  auto const alike = [&first](closure_ended const& e) {
    return e.released && e.of.session == first.session && e.of.place == first.place &&
           e.of.as == closure_state::succeeded;
  };
  if (!alike(c.ended[from])) return add(first, c), from + 1;
  auto const* owner = owner_of(first);
  if (!owner) return from + 1;
  auto const place = places_.of(first.place);
  auto const room = rows_.room(owner->number, place);
  if (room.empty()) return from + 1;
  auto at = from;
  for (auto& row : room) {
    row = row_of(c.ended[at].of, place);
    if (++at == c.ended.size() || !alike(c.ended[at])) break;
  }
  rows_.wrote(owner->number, at - from);
  return at;
}

}  // namespace muster::history
