// Details of a program attempt as text for users. Pure functions.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

std::string attempt_text(json::value const& answer);

/// Returns "status 3", "signal 9", or why the rank could not be started. Returns an empty string if
/// the rank has not ended.
std::string how_it_ended(json::value const& rank);

}  // namespace muster::cli
