// Addresses of the clusters' coordination services. Used only on the engine thread.
#pragma once

#include <string>

#include "base/status.hpp"
#include "server/core/coordination/api/coordination_effects.hpp"

namespace muster::server {

class cluster_endpoints {
 public:
  virtual ~cluster_endpoints() = default;
  /// Opens a port for a new cluster and returns its "host:port". Returns RESOURCE_EXHAUSTED if no
  /// port is free, or UNIMPLEMENTED if this server opens no ports.
  virtual muster::result<std::string> open(core::coordination::cluster_id c) = 0;
  /// Closes the cluster's port, if it has a port.
  virtual void close(core::coordination::cluster_id c) = 0;
  /// Returns the cluster's address, or an empty string if it has no port.
  virtual std::string address(core::coordination::cluster_id c) const = 0;
  /// Returns the main port's cluster, which includes the closure workers and cannot be deleted.
  virtual core::coordination::cluster_id main() const = 0;
};

}  // namespace muster::server
