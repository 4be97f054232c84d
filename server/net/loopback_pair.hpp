// A TCP connection of this process with itself, for a server that knows how to serve those alone.
#pragma once

#include "base/process/file_descriptor.hpp"
#include "base/status.hpp"

namespace muster::net {

/// Both non-blocking, without Nagle's delay, closed on exec.
struct loopback {
  file_descriptor dialled, served;
};

/// By 127.0.0.1. Nobody else can get in between: the end that was accepted is the one that has
/// dialled. Errors: RESOURCE_EXHAUSTED with the system's reason.
muster::result<loopback> loopback_pair();

}  // namespace muster::net
