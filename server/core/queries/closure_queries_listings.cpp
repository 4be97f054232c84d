#include <algorithm>

#include "base/check.hpp"
#include "server/core/api/closure_search.hpp"
#include "server/core/api/listings.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/record_walk.hpp"
#include "server/core/state/engine_state.hpp"
#include "server/core/transitions/lifecycle/release_texts.hpp"

namespace muster::core {

value_whereabouts whereabouts(closure_view const& c) {
  if (!c.released.empty()) return value_whereabouts::released;
  if (c.state != closure_state::succeeded) return value_whereabouts::none;
  return c.spilled ? value_whereabouts::disk : value_whereabouts::memory;
}

namespace {

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

struct core_names {
  function_table const& all;
  place_table const& places;

  std::size_t functions() const { return all.numbers(); }
  std::string_view shown(function_id f) const { return all[f].name; }
  std::string_view served(function_id f) const { return all[all[f].served].name; }
  std::string_view worker(std::uint32_t place) const { return places[place].worker; }
};

}  // namespace

result<search_step> closure_queries::search(closure_query const& q, closure_cursor from,
                                            closure_bounds const& within) const {
  auto const* s = core_.sessions.find(q.session);
  if (q.session != session_id{} && !s) return texts_.unknown_session(q.session);
  bool const job = s && s->traits().listed;
  auto const* list = job ? &core_.book.of(s->number).closures : nullptr;
  auto const owner = s ? s->number : session_number{};

  search_step out;
  out.in_order = (job || !s) && q.order == listing_order::by_index && !q.descending;
  out.of = job ? list->size()
           : s ? core_.book.of(s->number).unfinished() + s->held.size
               : core_.closures.size();
  core_names const named{core_.book.functions, core_.places};
  closure_search wanted(q, within, named);
  if (wanted.unsatisfiable()) {
    out.next.part = closure_cursor::end;
    return out;
  }
  if (from.part == closure_cursor::records) {
    bool const done =
        walk_records(core_.closures, list, owner, from.at,
                     [&](slot at, closure_record const& r) -> std::optional<std::size_t> {
                       if (core_.sessions.of(r.owner).id == session_id{})
                         return 0;  // the session is internal to the core
                       ++out.looked_at;
                       candidate c;
                       c.id = core_.closures.id_of(at);
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
                         c.bytes = r.where == value_place::disk ? core_.values.disk_size(c.id)
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

status closure_queries::group(session_id id, closure_groups& into) const {
  auto const* s = core_.sessions.find(id);
  if (!s) return texts_.unknown_session(id);
  auto const place = [&](function_id f) {
    auto const [at, fresh] = into.place_of.try_emplace(
        raw(f),
        static_cast<std::uint32_t>(std::min(into.groups.size(), closure_groups::groups_max)));
    if (fresh && at->second == into.groups.size())
      into.groups.emplace_back(
          at->second < closure_groups::groups_max ? core_.book.functions[f].name : std::string(),
          closure_counts{});
    return at->second;
  };
  auto const* list = s->traits().listed ? &core_.book.of(s->number).closures : nullptr;
  into.of = list ? list->size() : core_.book.of(s->number).unfinished() + s->held.size;
  into.done = walk_records(
      core_.closures, list, s->number, into.next,
      [&](slot, closure_record const& r) -> std::optional<std::size_t> {
        ++into.looked_at;
        auto const to = place(r.function);
        auto& n = into.groups[to].second;
        std::uint64_t* const counts[] = {&n.blocked,   &n.queued, &n.running,
                                         &n.succeeded, &n.failed, &n.cancelled};
        ++*counts[static_cast<std::size_t>(r.state())];
        if (!r.details) return 0;
        for (auto const i : r.details->input_ids) {
          slot const input = core_.closures.find(i);
          if (input == no_slot || core_.closures[input].owner != s->number) continue;
          std::pair const edge{place(core_.closures[input].function), to};
          if (into.edges.size() < closure_groups::edges_max || into.edges.contains(edge))
            ++into.edges[edge];
        }
        return r.details->input_ids.size() * record_cost;
      });
  return {};
}

status closure_queries::graph(session_id id, graph_nodes& into) const {
  auto const* s = core_.sessions.find(id);
  if (!s) return texts_.unknown_session(id);
  auto const* list = s->traits().listed ? &core_.book.of(s->number).closures : nullptr;
  into.of = list ? list->size() : core_.book.of(s->number).unfinished() + s->held.size;
  if (into.of > graph_nodes::nodes_max) return {};  // callers use `group` instead
  into.done = walk_records(
      core_.closures, list, s->number, into.next,
      [&](slot c, closure_record const& r) -> std::optional<std::size_t> {
        auto const [at, fresh] = into.place_of.try_emplace(
            raw(r.function), static_cast<std::uint32_t>(into.functions.size()));
        if (fresh) into.functions.push_back(core_.book.functions[r.function].name);
        into.nodes.push_back({core_.closures.id_of(c), r.order, at->second, r.state(), {}});
        if (r.details) into.nodes.back().inputs = r.details->input_ids;
        return record_cost * (1 + into.nodes.back().inputs.size());
      });
  return {};
}

}  // namespace muster::core
