// Steps of listings of closures, and views of what they found. Nothing here changes anything.
#include "server/core/api/listings.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"
#include "server/core/record_walk.hpp"

namespace muster::core {

value_whereabouts whereabouts(closure_view const& c) {
  if (!c.released.empty()) return value_whereabouts::released;
  if (c.state != closure_state::succeeded) return value_whereabouts::none;
  return c.spilled ? value_whereabouts::disk : value_whereabouts::memory;
}

namespace {

constexpr std::size_t text_units = 16, row_units = 8;

bool contains_word(std::string_view text, std::string_view word) {
  auto const same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

// The newest attempt has begun.
bool has_run(closure_record const& r) {
  if (r.state() == closure_state::running) return true;
  if (!ended(r.state()) || r.attempt == 0) return false;
  return !r.details || r.details->lost.empty() || r.details->lost.back().attempt < r.attempt;
}

value_state value_of(closure_state s, failure const* f) {
  if (!ended(s)) return value_state::not_ready;
  return f && f->kind == failure_kind::worker_lost ? value_state::aborted : value_state::ready;
}

value_whereabouts where_is(closure_record const& r) {
  if (r.state() != closure_state::succeeded) return value_whereabouts::none;
  if (r.where == value_place::gone) return value_whereabouts::released;
  return r.where == value_place::disk ? value_whereabouts::disk : value_whereabouts::memory;
}

/// What a query looks at, of a record or of a row.
struct candidate {
  closure_id id{};
  closure_state state{};
  function_id function{};
  std::uint32_t place = place_table::none;
  std::uint64_t index = 0;
  time_point created{};
  std::optional<time_point> started;
  time_point finished{};
  std::uint64_t bytes = 0;
  value_state value{};
  value_whereabouts where{};
  core::failure const* failed = nullptr;
};

/// A query made ready for one step.
class search {
 public:
  search(closure_query const& q, closure_bounds const& within, function_table const& functions,
         place_table const& places)
      : query_(q), within_(within), functions_(functions), places_(places) {
    if (!q.text.empty() || !q.function.empty()) names_.resize(functions.numbers());
    if (q.function.empty()) return;
    hopeless_ = true;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      auto const& f = functions.all()[i];
      names_[i].wanted = f.name == q.function || functions[f.served].name == q.function;
      hopeless_ = hopeless_ && !names_[i].wanted;
    }
  }

  bool hopeless() const { return hopeless_; }
  bool full() const { return found.size() >= within_.room; }

  /// What it cost.
  std::size_t look_at(candidate const& c) {
    if (!(query_.states & bit(c.state))) return 0;
    if (!query_.function.empty() && !names_[raw(c.function)].wanted) return 0;
    if (query_.value && c.value != *query_.value) return 0;
    if (query_.place && c.where != *query_.place) return 0;
    if (!query_.worker.empty() &&
        (c.place == place_table::none || places_[c.place].worker != query_.worker))
      return 0;
    found_closure const f{key_of(c), c.id};
    if (f <= within_.after || f >= within_.before) return 0;
    std::size_t cost = 0;
    if (!query_.text.empty()) {
      cost = text_units;
      if (!has_text(c)) return cost;
    }
    found.push_back(f);
    return cost;
  }

  std::vector<found_closure> found;

 private:
  std::uint64_t key_of(candidate const& c) const {
    auto const key = [this](std::uint64_t n) { return query_.descending ? ~n - 1 : n + 1; };
    auto const micros = [](auto d) {
      return static_cast<std::uint64_t>(std::max<std::int64_t>(0, d.count()));
    };
    switch (query_.order) {
      case listing_order::by_index:
        return key(c.index);
      case listing_order::by_start:
        return c.started ? key(micros(c.started->time_since_epoch())) : UINT64_MAX;
      case listing_order::by_duration:
        if (!c.started) return UINT64_MAX;
        return key(micros((ended(c.state) ? c.finished : query_.at) - *c.started));
      case listing_order::by_age:
        return key(micros(query_.at - (ended(c.state) ? c.finished : c.created)));
      case listing_order::by_size:
        return c.state == closure_state::succeeded ? key(c.bytes) : UINT64_MAX;
    }
    return 0;
  }
  bool has_text(candidate const& c) {
    auto& known = names_[raw(c.function)];
    if (!std::exchange(known.looked_at, true)) {
      auto const& f = functions_[c.function];
      known.has_text = contains_word(f.name, query_.text) ||
                       contains_word(functions_[f.served].name, query_.text);
    }
    if (known.has_text) return true;
    if (c.failed && (contains_word(c.failed->message, query_.text) ||
                     contains_word(c.failed->type, query_.text)))
      return true;
    return contains_word(text(c.id), query_.text);
  }

  closure_query const& query_;
  closure_bounds const& within_;
  function_table const& functions_;
  place_table const& places_;
  bool hopeless_ = false;
  struct named {
    bool wanted = false;     // of the query's function
    bool looked_at = false;  // for the query's text, and…
    bool has_text = false;   // …found
  };
  std::vector<named> names_;  // by function
};

candidate of(ended_row const& r, core::failure const* f) {
  candidate c;
  c.id = r.id;
  c.state = r.ended_as();
  c.function = r.function;
  c.place = r.place;
  c.index = r.order;
  c.created = r.created;
  if (r.attempt > 0) c.started = r.started;
  c.finished = r.finished;
  c.failed = f;
  c.value = value_of(c.state, f);
  if (c.state == closure_state::succeeded) c.where = value_whereabouts::released;
  return c;
}

}  // namespace

result<closure_look> coordinator::look(closure_query const& q, closure_cursor from,
                                       closure_bounds const& within) const {
  auto const& st = *state_;
  auto const* s = st.sessions.find(q.session);
  if (q.session != session_id{} && !s) return st.texts.unknown_session(q.session);
  bool const job = s && s->is_job();
  auto const* list = job ? &st.of(*s).closures : nullptr;
  auto const owner = s ? s->number : session_number{};

  closure_look out;
  out.in_order = (job || !s) && q.order == listing_order::by_index && !q.descending;
  out.of = job ? list->size()
           : s ? st.of(*s).unfinished() + s->held.size + (q.rows ? st.rows.size(owner) : 0)
               : st.closures.size();
  search wanted(q, within, st.book.functions, st.places);
  if (wanted.hopeless()) {
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
  } else if (from.part != closure_cursor::end) {
    auto const part = from.part == closure_cursor::rows ? ended_rows::newest : ended_rows::failures;
    auto const per_row = row_units + (q.text.empty() ? 0 : text_units);
    auto const next = st.rows.look(owner, part, from.at, step_units / per_row,
                                   [&](ended_row const& r, core::failure const* f) {
                                     ++out.looked_at;
                                     wanted.look_at(of(r, f));
                                   });
    if (next)
      from.at = *next;
    else
      from = {
          from.part == closure_cursor::rows ? closure_cursor::old_failures : closure_cursor::end,
          0};
  }
  out.found = std::move(wanted.found);
  out.next = from;
  return out;
}

closure_view coordinator::state::view_of(session const& s, ended_row const& r,
                                         core::failure const* f) const {
  closure_view v;
  v.id = r.id;
  v.job = s.id;
  v.index = r.order;
  name(v, r.function);
  v.state = r.ended_as();
  v.value = value_of(v.state, f);
  v.history = true;
  v.created = r.created;
  v.finished = r.finished;
  if (v.state == closure_state::succeeded)
    v.released = "its client has it; the session remembers a row of the closure";
  else
    v.error = *f;
  if (r.attempt == 0 || r.place == place_table::none) return v;
  auto const& p = places[r.place];
  v.attempts.push_back(
      {r.attempt, p.worker, p.incarnation, p.host, r.started, r.finished, {end_of(v.state)}});
  return v;
}

std::optional<closure_view> coordinator::state::row_of(session_id id, closure_id c) const {
  auto const* s = sessions.find(id);
  std::optional<closure_view> found;
  if (!s || s->is_job()) return found;
  for (auto const part : {ended_rows::newest, ended_rows::failures})
    rows.look(s->number, part, 0, SIZE_MAX, [&](ended_row const& r, core::failure const* f) {
      if (r.id == c) found = view_of(*s, r, f);
    });
  return found;
}

std::vector<closure_view> coordinator::closures(session_id of,
                                                std::vector<closure_id> const& ids) const {
  auto const& st = *state_;
  std::vector<closure_view> out;
  std::unordered_map<closure_id, std::size_t> in_rows;  // where they go
  for (auto const id : ids) {
    slot const c = st.closures.find(id);
    if (c == no_slot) in_rows.emplace(id, out.size());
    bool const shown =
        c != no_slot && (of == session_id{} || st.sessions.of(st.closures[c].owner).id == of);
    out.push_back(shown ? std::move(*closure(id)) : closure_view{});
  }
  auto const* s = st.sessions.find(of);
  if (s && !s->is_job() && !in_rows.empty())
    for (auto const part : {ended_rows::newest, ended_rows::failures})
      st.rows.look(s->number, part, 0, SIZE_MAX, [&](ended_row const& r, core::failure const* f) {
        if (auto const at = in_rows.find(r.id); at != in_rows.end())
          out[at->second] = st.view_of(*s, r, f);
      });
  std::erase_if(out, [](closure_view const& v) { return v.id == closure_id{}; });
  return out;
}

}  // namespace muster::core
