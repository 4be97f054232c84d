// Queries about closures that have a record, including why they wait. For closures without one, see
// server/history/closures.hpp. Results are copies; errors name the id.
//
// Owned by the coordinator, which hands it out; engine thread only.
#pragma once

#include "server/core/api/views.hpp"

namespace muster::core {

struct engine_state;
class release_texts;
class value_keeping;
class explainer;
struct explanation;        // api/explanation.hpp
struct gangs_view;         // api/waiting_views.hpp
struct unmet_demand_view;  // api/waiting_views.hpp
// Declared in api/listings.hpp.
struct closure_query;
struct closure_cursor;
struct closure_bounds;
struct search_step;
struct closure_groups;
struct graph_nodes;

class closure_queries {
 public:
  closure_queries(engine_state const& core, release_texts const& texts,
                  value_keeping const& keeping, explainer const& why)
      : core_(core), texts_(texts), keeping_(keeping), why_(why) {}

  /// Returns the number of stored closures, including finished ones; see config::closures_max.
  std::size_t size() const;
  result<closure_view> find(closure_id id) const;
  /// Returns a job's closures in schedule order, from index `from` on.
  result<page<closure_view, std::uint32_t>> list(session_id id, std::uint32_t from,
                                                 std::size_t limit) const;

  result<explanation> explain(closure_id id, time_point now) const;
  /// Returns whether the closure is queued and no connected worker can run it.
  bool has_no_worker(closure_id id) const;
  /// Return waiting gangs, and queued closures that no connected worker could run. They stop after
  /// about a millisecond: `more` counts the gangs left out, `complete` is false if demand was.
  gangs_view gangs() const;
  unmet_demand_view unmet_demand() const;

  // Listings visit all closures in steps of about a millisecond; see api/listings.hpp.
  /// Continues a search at `from` for one step.
  result<search_step> search(closure_query const& q, closure_cursor from,
                             closure_bounds const& within) const;
  /// Adds one step of a session's closures to `into`, whose `done` is set at the end.
  status group(session_id id, closure_groups& into) const;
  /// Adds one step of closures with their inputs to `into`, whose `done` is set at the end.
  status graph(session_id id, graph_nodes& into) const;

 private:
  engine_state const& core_;
  release_texts const& texts_;
  value_keeping const& keeping_;
  explainer const& why_;
};

}  // namespace muster::core
