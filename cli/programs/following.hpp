// Stays with a program until it ends: tells its states on stderr, what ranks print on stdout, and
// passes Ctrl-C on. Main thread, once a process.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// `path`: of the program. The first SIGINT or SIGTERM asks the server to stop it, a second one
/// cancels it, a third one ends this process. Returns its exit status, see exit_status_of. Errors:
/// as rest; the program goes on then.
int follow_program(rest& server, std::string const& path);

}  // namespace muster::cli
