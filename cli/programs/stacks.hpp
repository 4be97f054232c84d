// Stacks of ranks as text for users. Pure functions.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// Returns true for TAKEN and NATIVE, whose texts contain all threads.
bool is_whole(std::string const& state);
/// Returns a sentence about any other state.
std::string why_no_stack(std::string const& state);
/// Formats the answer of GET /api/v1/programs/{id}/stacks: groups of ranks with equal stacks,
/// outliers first.
std::string stacks_text(json::value const& answer);
std::string groups_text(json::array const& groups);

}  // namespace muster::cli
