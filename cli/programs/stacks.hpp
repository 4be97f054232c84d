// Stacks of ranks for people. Pure.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// Returns whether the text contains all threads, which is so for TAKEN and NATIVE.
bool is_whole(std::string const& state);
/// Returns a sentence about any other state.
std::string why_no_stack(std::string const& state);
/// Formats the answer of GET /api/v1/programs/{id}/stacks: a heading for each group of ranks with
/// equal stacks, then the stack. The server lists outliers first.
std::string stacks_text(json::value const& answer);
/// Formats such groups of ranks. Returns an empty string if there are none.
std::string groups_text(json::array const& groups);

}  // namespace muster::cli
