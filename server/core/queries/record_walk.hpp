// Visits the records of one session or of all sessions in steps. Private to this folder.
#pragma once

#include <optional>
#include <vector>

#include "server/core/api/listings.hpp"
#include "server/core/records/closure_table.hpp"

namespace muster::core {

/// Cost of examining a record, in addition to the cost of skipping it.
inline constexpr std::size_t record_cost = 4;

/// Visits records, starting at `at`, until the budget of the step is spent: the records in `list`,
/// if given; otherwise the records of `owner`, or of all sessions.
/// @param f called as `f(slot, record)`; returns the cost, or nothing to stop after this record
/// @return true if no records are left
template <class F>
bool walk_records(closure_table const& closures, std::vector<slot> const* list,
                  session_number owner, std::uint64_t& at, F f) {
  if (!list) {
    at = closures.walk_from(at, step_units,
                            [&](slot c, closure_record const& r) -> std::optional<std::size_t> {
                              if (owner != session_number{} && r.owner != owner) return 0;
                              auto const cost = f(c, r);
                              return cost ? std::optional(*cost + record_cost) : std::nullopt;
                            });
    return at >= closures.slots_end();
  }
  for (std::size_t spent = 0; at < list->size() && spent < step_units;) {
    slot const c = (*list)[at++];
    auto const cost = f(c, closures[c]);
    if (!cost) break;
    spent += *cost + record_cost;
  }
  return at >= list->size();
}

}  // namespace muster::core
