// The addresses of the coordination services of clusters. Ports are opened and closed as clusters
// are declared and deleted. Engine thread only.
#pragma once

#include <string>

#include "base/status.hpp"
#include "server/core/coordination/api/coordination_effects.hpp"

namespace muster::server {

class cluster_endpoints {
 public:
  virtual ~cluster_endpoints() = default;
  /// Opens a port for a cluster that was just declared, and returns its "host:port". Errors:
  /// RESOURCE_EXHAUSTED if no port is free; UNIMPLEMENTED if this server opens no ports.
  virtual muster::result<std::string> open(core::coordination::cluster_id c) = 0;
  /// Closes the port of a deleted cluster. Does nothing if it has none.
  virtual void close(core::coordination::cluster_id c) = 0;
  /// Returns an empty string if the cluster has no port.
  virtual std::string address(core::coordination::cluster_id c) const = 0;
  /// Returns the cluster of the main port, which includes the closure workers and cannot be
  /// deleted.
  virtual core::coordination::cluster_id main() const = 0;
};

}  // namespace muster::server
