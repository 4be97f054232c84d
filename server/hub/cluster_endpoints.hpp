// Where the coordination services of clusters can be reached, as whoever declares clusters sees it:
// ports are opened and closed with them. Engine thread.
#pragma once

#include <string>

#include "base/status.hpp"
#include "server/core/coordination/api/coordination_effects.hpp"

namespace muster::server {

class cluster_endpoints {
 public:
  virtual ~cluster_endpoints() = default;
  /// Opens a port for a cluster that was just declared; gives its "host:port".
  /// RESOURCE_EXHAUSTED: no port is left; UNIMPLEMENTED: this server opens none.
  virtual muster::result<std::string> open(core::coordination::cluster_id c) = 0;
  /// Closes it; the cluster is forgotten by now. Harmless when there is none.
  virtual void close(core::coordination::cluster_id c) = 0;
  /// Empty: the cluster has no port.
  virtual std::string address(core::coordination::cluster_id c) const = 0;
  /// The cluster of the main port: closure workers are its tasks too, and it stays.
  virtual core::coordination::cluster_id main() const = 0;
};

}  // namespace muster::server
