#include "server/history/closures.hpp"

#include <unordered_map>

#include "server/core/api/closure_search.hpp"
#include "server/core/queries/closure_queries.hpp"

namespace muster::history {

namespace {

constexpr std::size_t row_units = 8;

struct row_names {
  names const& all;
  places const& where;

  std::size_t functions() const { return all.numbers(); }
  std::string_view shown(function_id f) const { return all[f].name; }
  std::string_view served(function_id f) const { return all[f].served; }
  std::string_view worker(std::uint32_t place) const { return where[place].worker; }
};

candidate candidate_of(ended_row const& r, core::failure const* f) {
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

closure_view view_of(session_rows const& rows, session_id s, ended_row const& r,
                     core::failure const* f) {
  closure_view v;
  v.id = r.id;
  v.job = s;
  v.index = r.order;
  auto const& called = rows.named()[r.function];
  v.function = called.served;
  if (called.callable) v.display_name = called.name;
  v.callable = called.hash;
  v.state = r.ended_as();
  v.value = value_of(v.state, f);
  v.history = true;
  v.created = r.created;
  v.finished = r.finished;
  if (v.state == closure_state::succeeded)
    v.released = "its client has received it; the session keeps only a summary of the closure";
  else
    v.error = *f;
  if (r.attempt == 0 || r.place == places::none) return v;
  auto const& p = rows.where()[r.place];
  v.attempts.push_back(
      {r.attempt, p.worker, p.incarnation, p.host, r.started, r.finished, {end_of(v.state)}});
  return v;
}

explanation explain_row(closure_view const& v) {
  explanation e;
  e.closure = v.id;
  e.state = v.state;
  e.why = reason_of(v.state);
  e.is_row = true;
  e.error = v.error;
  if (v.attempts.empty()) return e;
  auto const& ran = v.attempts.back();
  e.worker = ran.worker;
  e.attempt = ran.attempt;
  e.lasted = ran.ended - ran.started;
  return e;
}

template <class Wanted, class F>
void for_rows(history const& h, session_id of, Wanted wanted, F f) {
  auto const owner = h.rows().find(of);
  if (!owner) return;
  for (auto const part : {ended_rows::newest, ended_rows::failures})
    h.rows().all().find(*owner, part, 0, SIZE_MAX,
                        [&](ended_row const& r, core::failure const* why) {
                          if (wanted(r.id)) f(view_of(h.rows(), of, r, why));
                        });
}

}  // namespace

result<closure_view> closure(history const& h, coordinator const& core, closure_id id,
                             session_id of) {
  auto known = core.closures().find(id);
  if (known) return known;
  std::optional<closure_view> row;
  for_rows(
      h, of, [&](closure_id i) { return i == id; }, [&](closure_view v) { row = std::move(v); });
  if (row) return std::move(*row);
  return known;
}

result<explanation> explain(history const& h, coordinator const& core, closure_id id,
                            time_point now, session_id of) {
  auto known = core.closures().explain(id, now);
  if (known) return known;
  if (auto const row = closure(h, core, id, of)) return explain_row(*row);
  return known;
}

std::vector<closure_view> closures(history const& h, coordinator const& core, session_id of,
                                   std::vector<closure_id> const& ids) {
  std::unordered_map<closure_id, closure_view> known;
  for (auto const id : ids)
    if (auto v = core.closures().find(id); v && (of == session_id{} || v->job == of))
      known.emplace(id, std::move(*v));
  if (known.size() < ids.size()) {
    std::unordered_map<closure_id, bool> missing;
    for (auto const id : ids)
      if (!known.contains(id)) missing.emplace(id, true);
    for_rows(
        h, of, [&](closure_id id) { return missing.contains(id); },
        [&](closure_view v) { known[v.id] = std::move(v); });
  }
  std::vector<closure_view> out;
  for (auto const id : ids)
    if (auto const it = known.find(id); it != known.end()) out.push_back(std::move(it->second));
  return out;
}

result<search_step> search_closures(history const& h, coordinator const& core,
                                    closure_query const& q, closure_cursor from,
                                    closure_bounds const& within) {
  auto const owner = q.rows ? h.rows().find(q.session) : std::nullopt;
  auto out = core.closures().search(q, from, within);
  if (!out) return out;
  if (owner) out->of += h.rows().all().size(*owner);
  // The core may have dropped a function name that rows still use.
  if (owner && from.part == closure_cursor::records && out->next.part == closure_cursor::end)
    out->next = {closure_cursor::rows, 0};
  if (from.part == closure_cursor::records || from.part == closure_cursor::end) {
    if (out->next.part == closure_cursor::rows && !owner) out->next.part = closure_cursor::end;
    return out;
  }
  out->next.part = closure_cursor::end;
  row_names const named{h.named(), h.rows().where()};
  closure_search wanted(q, within, named);
  if (!owner || wanted.unsatisfiable()) return out;
  auto const part = from.part == closure_cursor::rows ? ended_rows::newest : ended_rows::failures;
  auto const per_row = row_units + (q.text.empty() ? 0 : search_text_units);
  auto const next = h.rows().all().find(*owner, part, from.at, step_units / per_row,
                                        [&](ended_row const& r, core::failure const* f) {
                                          ++out->looked_at;
                                          wanted.look_at(candidate_of(r, f));
                                        });
  out->found = std::move(wanted.found);
  if (next)
    out->next = {from.part, *next};
  else if (from.part == closure_cursor::rows)
    out->next = {closure_cursor::old_failures, 0};
  return out;
}

overview_view overview(history const& h, coordinator const& core, time_point now) {
  auto v = core.overview(now);
  v.session_rows_bytes = h.rows().all().bytes();
  return v;
}

}  // namespace muster::history
