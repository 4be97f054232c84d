// How a task that only serves other tasks waits for its end.
#pragma once

#include "muster/standard_server.hpp"

namespace muster::distribute {

/// Waits until the server has ended. If SIGTERM has its default disposition, it stops the server:
/// the first one lets running calls finish, the second ends the server at once.
/// @throws std::runtime_error  as standard_server::join
void serve_until_end(standard_server& server);

}  // namespace muster::distribute
