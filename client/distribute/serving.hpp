// How a task that only serves others waits for its end.
#pragma once

#include "muster/standard_server.hpp"

namespace muster::distribute {

/// Waits until the server has ended. If SIGTERM has its default disposition, it stops the server
/// meanwhile: the first one lets it finish what runs, the second one ends it at once.
/// @throws std::runtime_error as standard_server::join.
void serve_until_end(standard_server& server);

}  // namespace muster::distribute
