// `muster serve --supervise`: a small parent process that starts the server, keeps its listening
// sockets, and restarts the server when it dies.
#pragma once

#include <string>
#include <vector>

namespace muster::server {

/// Returns whether a supervisor started this process. If so, this process must not become a
/// supervisor.
bool is_supervised();

/// Runs this program with these arguments, without argv[0]. Returns the server's exit status when
/// the server exits normally, is stopped by SIGTERM or SIGINT, or fails to start the first time.
/// SIGHUP kills the server and restarts it with the current program file.
/// @pre The process has one thread.
int supervise(std::vector<std::string> const& arguments);

}  // namespace muster::server
