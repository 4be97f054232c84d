// Stacks of ranks as people read them. Pure.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// All threads are in the text: TAKEN, NATIVE.
bool is_whole(std::string const& state);
/// A sentence about each other state.
std::string why_no_stack(std::string const& state);
/// Of the answer of GET /api/v1/programs/{id}/stacks: a heading for each group of ranks, then
/// their stack, the odd one first.
std::string stacks_text(json::value const& answer);
/// Of such groups; empty: of none.
std::string groups_text(json::array const& groups);

}  // namespace muster::cli
