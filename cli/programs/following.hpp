// Follows a program until it ends: prints its states on stderr and the output of its ranks on
// stdout, and forwards Ctrl-C. Main thread, once in a process.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// Follows the program at `path` and returns its exit status; see exit_status_of. The first SIGINT
/// or SIGTERM asks the server to stop it, a second one cancels it, and a third one ends this
/// process. Throws as rest; the program continues then.
int follow_program(rest& server, std::string const& path);

}  // namespace muster::cli
