// `muster serve --supervise`: a small parent that starts the server, keeps its listening sockets
// and starts it again when it dies. It speaks systemd's protocol to it (see
// server/net/service_manager.hpp).
#pragma once

#include <string>
#include <vector>

namespace muster::server {

/// Whether this process is the server of such a parent: it does not become one itself.
bool is_supervised();

/// Runs this program with these arguments (argv[0] aside) until it ends by itself, was told to by
/// SIGTERM or SIGINT, or cannot start in the first place; gives its exit status. SIGHUP: the server
/// is killed and started again, from the program file as it is then. REQUIRES: no thread yet.
int supervise(std::vector<std::string> const& arguments);

}  // namespace muster::server
