// Blobs, for the few who work with them: every engine_gateway gives its work this one, and what has
// nothing to do with blobs knows engine_services only.
#pragma once

#include "server/hub/blob_store.hpp"
#include "web/engine/gateway.hpp"

namespace muster::web {

struct services_with_blobs : engine_services {
  server::blob_store& blobs;
};

/// Engine thread.
inline server::blob_store& blobs_of(engine_services& services) {
  return static_cast<services_with_blobs&>(services).blobs;
}

}  // namespace muster::web
