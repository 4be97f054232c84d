// Turns among programs of one priority. The submitter with the fewest ranks, relative to the weight
// of its oldest waiting program, is next. A submitter that has waited for an hour without a start
// comes first, so none starves behind short programs. Pure functions.
#pragma once

#include <map>
#include <vector>

#include "server/core/programs/program.hpp"

namespace muster::core::programs {

/// Orders waiting programs by turn, as if those before had started. Within a priority, programs
/// that pause or lack their upload are last. `waiting`: by priority, then by age. `all`: includes
/// running programs.
std::vector<program*> in_turn(std::vector<program*> waiting,
                              std::map<program_id, program> const& all, time_point now);

}  // namespace muster::core::programs
