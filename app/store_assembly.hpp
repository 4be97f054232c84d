// What is kept, where, and by which right: the leadership, clusters and jobs with the directory or
// store that they are written down in, spilled values, blobs. Owned by the composition root; engine
// thread, or before that runs, unless it says main thread.
#pragma once

#include "app/closure_hubs.hpp"
#include "app/durable_coordination.hpp"
#include "app/engine_assembly.hpp"
#include "app/standby.hpp"
#include "coro/timer_queue.hpp"
#include "server/hub/blob_store.hpp"
#include "server/hub/spill_store.hpp"

namespace muster::server {

class store_assembly {
 public:
  /// `sockets_held`: see durable_coordination. REQUIRES: the engine outlives it.
  store_assembly(engine_assembly& engine, bool sockets_held);

  standby& leadership() { return leadership_; }
  durable_coordination& durable() { return durable_; }
  coordination_hub& coordination() { return durable_.hub(); }
  server::pools& pools() { return hubs_.pools(); }
  program_clusters& of_programs() { return hubs_.of_programs(); }
  blob_store& blobs() { return blobs_; }

  /// Behind the data directory, before the engine runs. start_error.
  void open_files();
  /// Looks every second which blobs are named no more, more often while workers hold some and
  /// shortly after.
  /// REQUIRES: the files are open.
  void watch_blobs();
  /// Restores jobs. REQUIRES: data directory and files are open.
  void restore_jobs();
  /// Main thread, when nobody is answered any more: what is on its way to a file is abandoned.
  void stop_files();

 private:
  void keep_uploads();
  void make_again(core::closure_id id);

  engine_assembly& engine_;
  standby leadership_;
  spill_store spill_;  // has a thread of its own
  blob_store blobs_;   // has a thread of its own
  coro::timer next_look_;
  core::time_point uploads_looked_at_{};
  core::time_point outputs_seen_at_{};
  durable_coordination durable_;
  closure_hubs hubs_;
};

}  // namespace muster::server
