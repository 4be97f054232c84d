// Creates the server's parts and starts and stops them in dependency order.
#pragma once

#include "app/configuration.hpp"

namespace muster::server {

/// Runs the server until SIGTERM or SIGINT. Main thread, once per process.
/// @throws start_error
/// @throws std::runtime_error if a part fails after startup
void serve(configuration const& c);

}  // namespace muster::server
