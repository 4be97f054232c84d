// The hubs of the server's clusters, each with its timer, and the pools that find them. Owned by
// the composition root; engine thread only, but for the constructor.
#pragma once

#include <functional>
#include <string>

#include "app/durable_coordination.hpp"
#include "app/engine_assembly.hpp"
#include "coro/timer_queue.hpp"
#include "server/core/api/server_wide.hpp"
#include "server/hub/blob_store.hpp"
#include "server/hub/pools.hpp"
#include "server/hub/programs/program_clusters.hpp"
#include "server/hub/spill_store.hpp"

namespace muster::server {

class closure_hubs {
 public:
  /// REQUIRES: all outlive it.
  closure_hubs(engine_assembly& engine, durable_coordination& durable, standby const& leadership,
               spill_store& spilled, blob_store& blobs);

  server::pools& pools() { return pools_; }
  program_clusters& of_programs() { return of_programs_; }

  /// The jobs that stand in the data directory, which is open; clusters of programs that nobody
  /// knows go, once the engine runs. Before that.
  void restore();

 private:
  using cluster_id = core::coordination::cluster_id;
  struct timed_hub;

  cluster_id main_cluster() const;
  muster::result<cluster_id> find(std::string_view name) const;
  core::config config_of(core::coordination::cluster_spec const* cluster) const;
  hub_dependencies dependencies(coro::timer& deadline, std::function<void()> on_deadline,
                                std::string cluster, pool_dependencies pool);
  std::shared_ptr<hub> make(cluster_id cluster, pool_dependencies pool);
  void make_room_soon();
  void restore_programs();
  void remove_soon(std::string cluster);
  void pass_on_soon(core::coordination_failed e);
  void note_soon(core::program_id program, std::uint32_t attempt, core::attempt_record::event what);
  void keep_blobs(core::restored_job const& job);
  void keep_blob(core::closure_id id);

  engine_assembly& engine_;
  durable_coordination& durable_;
  standby const& leadership_;
  spill_store& spilled_;
  blob_store& blobs_;
  coordination_hub& clusters_;
  std::string const main_name_;
  core::server_wide wide_;
  program_clusters of_programs_;
  coro::timer deadline_, room_;
  bool room_asked_ = false;
  hub main_;
  server::pools pools_;
};

}  // namespace muster::server
