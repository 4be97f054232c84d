// The web layer's only door to the engine: work that is handed over runs there, one piece at a
// time, in the order it was posted. Implemented by the composition root (and by hand in tests).
// `post` may be called from any thread; the work runs on the engine thread.
#pragma once

#include <functional>

namespace muster::server {
class blob_store;
class cluster_endpoints;
class coordination_hub;
class event_log;
class pools;
class token_keeper;
}  // namespace muster::server

namespace muster::web {

/// What work finds on the engine thread.
struct engine_services {
  server::pools& pools;
  server::coordination_hub& coordination;
  server::event_log& events;
  server::cluster_endpoints& endpoints;
  server::blob_store& blobs;
  server::token_keeper* tokens = nullptr;  // null: there are none
};

class engine_gateway {
 public:
  virtual ~engine_gateway() = default;

  /// False when the server is stopping: `work` was destroyed without having run. True: it will run,
  /// or be destroyed unrun when the engine ends first.
  virtual bool post(std::function<void(engine_services&)> work) = 0;
};

}  // namespace muster::web
