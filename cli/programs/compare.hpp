// Compares the duration, progress, late hosts and settings of two programs or attempts. Uses only
// the server's data. Used on the main thread.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// Returns {"a":…,"b":…,"hosts":[…], "settings":[…]}. `a` and `b` are names, IDs, or NAME#ATTEMPT.
/// @throws command_error or request_error if a program or attempt does not exist
json::value comparison(rest& server, std::string const& a, std::string const& b);
std::string comparison_text(json::value const& both);

}  // namespace muster::cli
