// Whose turn it is among programs of one priority: the submitter who has the fewest ranks for the
// weight of the program that it would start, and of its own programs the oldest. Where nothing of a
// submitter has begun for an hour while it waited, its turn comes before those of others, so none
// waits for ever behind programs that come and go. Pure.
#pragma once

#include <map>
#include <vector>

#include "server/core/programs/program.hpp"

namespace muster::core::programs {

/// The same programs in their turns, those of a priority that pause or lack their upload last, each
/// as if those before it had started. `waiting`: by priority, then by age. `all`: with those that
/// run.
std::vector<program*> in_turn(std::vector<program*> waiting,
                              std::map<program_id, program> const& all, time_point now);

}  // namespace muster::core::programs
