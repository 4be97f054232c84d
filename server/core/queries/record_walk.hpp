// One step over the records of a session, or over all. Private to coordinator_*.cpp; reads only.
#pragma once

#include <optional>
#include <vector>

#include "server/core/api/listings.hpp"
#include "server/core/records/closure_table.hpp"

namespace muster::core {

/// What looking at one record costs beyond going past it.
inline constexpr std::size_t look_units = 4;

/// Records of a session, or of all, from a place on, as far as a step goes: of a job by its list,
/// else through the table. `f(slot, record)` says what one costs, or nothing to end behind it.
/// Whether nothing is left.
template <class F>
bool walk_records(closure_table const& closures, std::vector<slot> const* list,
                  session_number owner, std::uint64_t& at, F f) {
  if (!list) {
    at = closures.walk_from(at, step_units,
                            [&](slot c, closure_record const& r) -> std::optional<std::size_t> {
                              if (owner != session_number{} && r.owner != owner) return 0;
                              auto const cost = f(c, r);
                              return cost ? std::optional(*cost + look_units) : std::nullopt;
                            });
    return at >= closures.slots_end();
  }
  for (std::size_t spent = 0; at < list->size() && spent < step_units;) {
    slot const c = (*list)[at++];
    auto const cost = f(c, closures[c]);
    if (!cost) break;
    spent += *cost + look_units;
  }
  return at >= list->size();
}

}  // namespace muster::core
