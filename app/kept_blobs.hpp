// The server's blobs: where they lie, and when the store looks at what names them. Owned by the
// composition root; engine thread, or before that runs.
#pragma once

#include "coro/engine_context.hpp"
#include "coro/timer_queue.hpp"
#include "app/clock.hpp"
#include "app/configuration.hpp"
#include "server/hub/blob_store.hpp"
#include "server/hub/pools.hpp"

namespace muster::server {

class kept_blobs {
 public:
  /// REQUIRES: all outlive it.
  kept_blobs(configuration const& c, coro::engine_context& engine, anchored_clock const& clock);

  blob_store& store() { return store_; }
  /// Behind the data directory, before the engine runs. start_error.
  void open();
  /// From now on, every second. REQUIRES: `pools` outlive the engine.
  void look(pools& all);
  /// See blob_store.
  void stop() { store_.stop(); }

 private:
  blob_store store_;
  coro::timer next_look_;
};

}  // namespace muster::server
