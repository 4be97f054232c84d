// Turns among programs of equal priority. The submitter with the fewest ranks, relative to the
// weight of its oldest waiting program, is next. A submitter whose programs have not started for an
// hour comes first, so that short programs cannot starve them.
#pragma once

#include <map>
#include <vector>

#include "server/core/programs/program.hpp"

namespace muster::core::programs {

/// Orders waiting programs by turn. Each turn assumes that all previous programs in the order
/// start. Within a priority, programs that pause or lack their upload are last. REQUIRES: `waiting`
/// is ordered by priority, then by age.
/// `Program` is `program` or `program const`.
template <class Program>
std::vector<Program*> in_turn(std::vector<Program*> waiting,
                              std::map<program_id, program> const& all, time_point now);

}  // namespace muster::core::programs
