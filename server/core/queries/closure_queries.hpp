// What readers ask about closures that have a record, and why they wait. What history remembers of
// others is in server/history/closures.hpp. Everything is copied; an error names the id.
//
// Handed out by the coordinator, which outlives it; engine thread only.
#pragma once

#include "server/core/api/views.hpp"

namespace muster::core {

struct engine_state;
class release_texts;
class value_keeping;
class explainer;
struct explanation;        // api/explanation.hpp
struct gangs_view;         // api/waiting_views.hpp
struct unmet_demand_view;  // the same
struct closure_query;      // api/listings.hpp, as all down to…
struct closure_cursor;
struct closure_bounds;
struct closure_look;
struct closure_groups;
struct graph_nodes;  // …here

class closure_queries {
 public:
  closure_queries(engine_state const& core, release_texts const& texts,
                  value_keeping const& keeping, explainer const& why)
      : core_(core), texts_(texts), keeping_(keeping), why_(why) {}

  /// Returns how many closures the server keeps, finished ones included: the number that
  /// config::closures_max limits.
  std::size_t size() const;
  result<closure_view> look(closure_id id) const;
  /// Of a job, in schedule order from index `from`.
  result<page<closure_view, std::uint32_t>> list(session_id id, std::uint32_t from,
                                                 std::size_t limit) const;

  /// Why the closure waits, moved or failed, as data.
  result<explanation> explain(closure_id id, time_point now) const;
  /// It waits for a worker, and none that is here can have it.
  bool has_no_worker(closure_id id) const;
  /// Gangs that wait, and queued closures that no connected worker could run: the oldest, as many
  /// as fit into about a millisecond; each says how many more there are.
  gangs_view gangs() const;
  unmet_demand_view unmet_demand() const;

  // Listings go over everything in steps of about a millisecond; see api/listings.hpp.
  /// Looks on from `from`, as far as one step goes.
  result<closure_look> search(closure_query const& q, closure_cursor from,
                              closure_bounds const& within) const;
  /// Goes on with the groups of a session's closures; they say when nothing is left.
  status group(session_id id, closure_groups& into) const;
  /// The same for single closures and what they wait for.
  status graph(session_id id, graph_nodes& into) const;

 private:
  engine_state const& core_;
  release_texts const& texts_;
  value_keeping const& keeping_;
  explainer const& why_;
};

}  // namespace muster::core
