// What was seen of an attempt, as people read it. Pure.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// Of the answer of GET /api/v1/programs/{id}/attempts/{attempt}.
std::string attempt_text(json::value const& answer);

/// "status 3", "signal 9", or why it could not be started; empty: it has not ended.
std::string how_it_ended(json::value const& rank);

}  // namespace muster::cli
