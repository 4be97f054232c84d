// Stacks of ranks as people read them. Pure.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// Of the answer of GET /api/v1/programs/{id}/stacks: a heading for each group of ranks, then
/// their stack, the odd one first.
std::string stacks_text(json::value const& answer);

}  // namespace muster::cli
