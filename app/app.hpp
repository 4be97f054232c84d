// The composition root: makes the parts of the server, starts them in an order in which each finds
// what it needs, and stops them in an order in which nobody waits for an answer in vain.
#pragma once

#include "app/configuration.hpp"

namespace muster::server {

/// Runs the server until SIGTERM or SIGINT and returns after an orderly stop. Errors: start_error,
/// std::runtime_error when a part failed later. Main thread, once a process.
void serve(configuration const& c);

}  // namespace muster::server
