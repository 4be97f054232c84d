// The web layer's only door to the engine: work that is handed over runs there, one piece at a
// time, in the order it was posted. Implemented by the composition root (and by hand in tests).
// `post` may be called from any thread; the work runs on the engine thread.
#pragma once

#include <functional>

#include "server/hub/coordination_hub.hpp"
#include "server/hub/event_log.hpp"
#include "server/hub/hub.hpp"

namespace muster::web {

/// The ports of the clusters' coordination services. Engine thread.
class cluster_doors {
 public:
  virtual ~cluster_doors() = default;
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

/// What work finds on the engine thread.
struct engine_room {
  server::hub& hub;
  server::coordination_hub& coordination;
  server::event_log& events;
  cluster_doors& doors;
};

class engine_gateway {
 public:
  virtual ~engine_gateway() = default;

  /// False when the server is stopping: `work` was destroyed without having run. True: it will run,
  /// or be destroyed unrun when the engine ends first.
  virtual bool post(std::function<void(engine_room&)> work) = 0;
};

}  // namespace muster::web
