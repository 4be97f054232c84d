// Connects this process to itself over TCP, for servers that accept only sockets.
#pragma once

#include "base/process/file_descriptor.hpp"
#include "base/status.hpp"

namespace muster::net {

/// Two connected non-blocking sockets with TCP_NODELAY and close-on-exec.
struct loopback {
  file_descriptor dialled, served;
};

/// Connects over 127.0.0.1 and verifies that the two sockets are the ends of one connection.
/// Returns RESOURCE_EXHAUSTED with the system's reason on failure.
muster::result<loopback> loopback_pair();

}  // namespace muster::net
