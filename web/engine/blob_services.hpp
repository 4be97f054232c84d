// Blobs and tokens, for the few who work with them: every engine_gateway gives its work this one,
// and what has nothing to do with them knows engine_services only.
#pragma once

#include "server/hub/access/token_keeper.hpp"
#include "server/hub/blob_store.hpp"
#include "web/engine/gateway.hpp"

namespace muster::web {

struct services_with_blobs : engine_services {
  server::blob_store& blobs;
  server::token_keeper* tokens = nullptr;  // null: there are none
};

/// Engine thread.
inline server::blob_store& blobs_of(engine_services& services) {
  return static_cast<services_with_blobs&>(services).blobs;
}

/// Engine thread.
inline server::token_keeper* tokens_of(engine_services& services) {
  return static_cast<services_with_blobs&>(services).tokens;
}

}  // namespace muster::web
