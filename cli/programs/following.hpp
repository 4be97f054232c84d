// Follows a program until it ends: prints its states to stderr and the output of ranks to stdout,
// and forwards Ctrl-C. Call this once per process, on the main thread.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// Returns the exit status, see exit_status_of(). The first SIGINT or SIGTERM asks the server to
/// stop the program at `path`, the second signal cancels the program, and the third ends this
/// process. Throws the same errors as `rest`; the program then continues.
int follow_program(rest& server, std::string const& path);

}  // namespace muster::cli
