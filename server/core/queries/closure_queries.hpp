// Queries about closures with a record. For closures without a record, see
// server/history/closures.hpp. Results are copies; errors contain the id.
//
// Used only on the engine thread.
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

  /// Returns the number of closures, including finished closures; see config::closures_max.
  std::size_t size() const;
  result<closure_view> find(closure_id id) const;
  /// Returns closures in schedule order, starting at index `from`.
  result<page<closure_view, std::uint32_t>> list(session_id id, std::uint32_t from,
                                                 std::size_t limit) const;

  result<explanation> explain(closure_id id, time_point now) const;
  bool has_no_worker(closure_id id) const;
  /// Return the gangs and the queued closures that no connected worker can run. Both stop after
  /// about a millisecond. `more` counts the omitted gangs; `complete` is false if closures were
  /// omitted.
  gangs_view gangs() const;
  unmet_demand_view unmet_demand() const;

  // Listings visit all closures in steps of about a millisecond; see api/listings.hpp.
  result<search_step> search(closure_query const& q, closure_cursor from,
                             closure_bounds const& within) const;
  /// Adds one step of a session's closures to `into`. Sets `into.done` at the end.
  status group(session_id id, closure_groups& into) const;
  /// Adds one step of closures and their inputs to `into`. Sets `into.done` at the end.
  status graph(session_id id, graph_nodes& into) const;

 private:
  engine_state const& core_;
  release_texts const& texts_;
  value_keeping const& keeping_;
  explainer const& why_;
};

}  // namespace muster::core
