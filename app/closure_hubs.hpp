// The hubs of the server's clusters with their timers, and the pools that find a hub. Owned by the
// composition root. Used only on the engine thread, except for the constructor.
#pragma once

#include <functional>
#include <string>

#include "app/data_directory.hpp"
#include "app/engine_assembly.hpp"
#include "app/standby.hpp"
#include "coro/timer_queue.hpp"
#include "server/core/api/server_wide.hpp"
#include "server/hub/blob_store.hpp"
#include "server/hub/pools.hpp"
#include "server/hub/programs/program_clusters.hpp"
#include "server/hub/spill_store.hpp"

namespace muster::server {

class closure_hubs {
 public:
  closure_hubs(engine_assembly& engine, data_directory& data, coordination_hub& clusters,
               standby const& leadership, spill_store& spilled, blob_store& blobs);

  server::pools& pools() { return pools_; }
  program_clusters& of_programs() { return of_programs_; }

  /// Makes session and closure numbers differ from the numbers of earlier starts. Must be called
  /// before anything is restored.
  /// @param sessions Highest number of an earlier session.
  void set_first_numbers(std::uint64_t epoch, std::uint64_t sessions);
  /// Restores programs from the open data directory. Clusters of unknown programs are removed once
  /// the engine runs. Must be called before the engine runs.
  void restore_programs();

 private:
  using cluster_id = core::coordination::cluster_id;
  struct timed_hub;

  cluster_id main_cluster() const;
  muster::result<cluster_id> find(std::string_view name) const;
  core::config config_of(core::coordination::cluster_spec const* cluster) const;
  hub_dependencies dependencies(coro::timer& deadline, std::function<void()> on_deadline,
                                std::string cluster, pool_dependencies pool);
  std::shared_ptr<hub> make(cluster_id cluster, pool_dependencies pool);
  void schedule_eviction();
  void remove_soon(std::string cluster);
  void post_failure(core::coordination_failed e);
  void post_attempt_event(core::program_id program, std::uint32_t attempt,
                          core::attempt_record::event what);
  void keep_blob(core::closure_id id);

  engine_assembly& engine_;
  data_directory& data_;
  coordination_hub& clusters_;
  standby const& leadership_;
  spill_store& spilled_;
  blob_store& blobs_;
  std::string const main_name_;
  core::server_wide wide_;
  program_clusters of_programs_;
  coro::timer deadline_, room_;
  bool room_asked_ = false;
  hub main_;
  server::pools pools_;
};

}  // namespace muster::server
