// Two programs, or attempts of them, side by side: how long, how far, who was late, and which
// settings differ. Of what the server tells of each; nothing is kept for it. Main thread.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// Each is a name or an id, of a program as a whole, or NAME#ATTEMPT. {"a":…,"b":…,"hosts":[…],
/// "settings":[…]}. command_error or request_error: there is none.
json::value comparison(rest& server, std::string const& a, std::string const& b);
std::string comparison_text(json::value const& both);

}  // namespace muster::cli
