// Waits in a task that only runs a server for other tasks.
#pragma once

#include "muster/standard_server.hpp"

namespace muster::distribute {

/// Waits until the server has ended. If SIGTERM has its default disposition, this function handles
/// it: the first SIGTERM lets running calls finish, and the second ends the server immediately.
/// @throws std::runtime_error  see standard_server::join
void serve_until_end(standard_server& server);

}  // namespace muster::distribute
