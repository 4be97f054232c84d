// The composition root: creates the parts of the server, and starts and stops them in order of
// their dependencies.
#pragma once

#include "app/configuration.hpp"

namespace muster::server {

/// Runs the server until SIGTERM or SIGINT. Main thread, once per process.
/// @throws start_error
/// @throws std::runtime_error if a part fails later
void serve(configuration const& c);

}  // namespace muster::server
