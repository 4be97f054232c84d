// Creates the server's parts and starts and stops them in dependency order.
#pragma once

#include "app/configuration.hpp"

namespace muster::server {

/// Runs the server until SIGTERM or SIGINT. Call this once per process, on the main thread.
/// @throws start_error if startup fails
/// @throws std::runtime_error if a part fails after startup
void serve(configuration const& c);

}  // namespace muster::server
