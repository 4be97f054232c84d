// Steps of listings of closures, and views of what they found. Nothing here changes anything.
#include "server/core/api/listings.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "server/core/api/closure_search.hpp"
#include "server/core/coordinator_state.hpp"
#include "server/core/record_walk.hpp"

namespace muster::core {

value_whereabouts whereabouts(closure_view const& c) {
  if (!c.released.empty()) return value_whereabouts::released;
  if (c.state != closure_state::succeeded) return value_whereabouts::none;
  return c.spilled ? value_whereabouts::disk : value_whereabouts::memory;
}

namespace {

// The newest attempt has begun.
bool has_run(closure_record const& r) {
  if (r.state() == closure_state::running) return true;
  if (!ended(r.state()) || r.attempt == 0) return false;
  return !r.details || r.details->lost.empty() || r.details->lost.back().attempt < r.attempt;
}

value_whereabouts where_is(closure_record const& r) {
  if (r.state() != closure_state::succeeded) return value_whereabouts::none;
  if (r.where == value_place::gone) return value_whereabouts::released;
  return r.where == value_place::disk ? value_whereabouts::disk : value_whereabouts::memory;
}

/// The names of the core's own numbers.
struct core_names {
  function_table const& all;
  place_table const& places;

  std::size_t functions() const { return all.numbers(); }
  std::string_view shown(function_id f) const { return all[f].name; }
  std::string_view served(function_id f) const { return all[all[f].served].name; }
  std::string_view worker(std::uint32_t place) const { return places[place].worker; }
};

}  // namespace

result<closure_look> coordinator::look(closure_query const& q, closure_cursor from,
                                       closure_bounds const& within) const {
  auto const& st = *state_;
  auto const* s = st.sessions.find(q.session);
  if (q.session != session_id{} && !s) return st.texts.unknown_session(q.session);
  bool const job = s && s->traits().listed;
  auto const* list = job ? &st.of(*s).closures : nullptr;
  auto const owner = s ? s->number : session_number{};

  closure_look out;
  out.in_order = (job || !s) && q.order == listing_order::by_index && !q.descending;
  out.of = job ? list->size() : s ? st.of(*s).unfinished() + s->held.size : st.closures.size();
  core_names const named{st.book.functions, st.places};
  closure_search wanted(q, within, named);
  if (wanted.unsatisfiable()) {
    out.next.part = closure_cursor::end;
    return out;
  }
  if (from.part == closure_cursor::records) {
    bool const done =
        walk_records(st.closures, list, owner, from.at,
                     [&](slot at, closure_record const& r) -> std::optional<std::size_t> {
                       if (st.sessions.of(r.owner).id == session_id{}) return 0;  // the core's own
                       ++out.looked_at;
                       candidate c;
                       c.id = st.closures.id_of(at);
                       c.state = r.state();
                       c.function = r.function;
                       c.place = r.place;
                       c.index = s ? r.order : at;
                       c.created = r.created;
                       if (has_run(r)) c.started = r.started;
                       c.finished = r.finished;
                       if (ended_badly_states & bit(r.state())) c.failed = &r.details->failure;
                       c.value = r.where == value_place::gone ? value_state::aborted
                                                              : value_of(r.state(), c.failed);
                       c.where = where_is(r);
                       if (q.order == listing_order::by_size)
                         c.bytes = r.where == value_place::disk ? st.values.bytes_away(c.id)
                                                                : size_of_value(r.value);
                       auto const cost = wanted.look_at(c);
                       if (out.in_order && wanted.full()) return std::nullopt;
                       return cost;
                     });
    if (done) from = {s && !job && q.rows ? closure_cursor::rows : closure_cursor::end, 0};
  }
  out.found = std::move(wanted.found);
  out.next = from;
  return out;
}

}  // namespace muster::core
