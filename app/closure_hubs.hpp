// The hubs of the server's clusters, each with its timer, and the pools that find them. Owned by
// the composition root; engine thread only, but for the constructor.
#pragma once

#include <functional>
#include <string>

#include "coro/engine_context.hpp"
#include "coro/timer_queue.hpp"
#include "app/clock.hpp"
#include "app/configuration.hpp"
#include "app/data_directory.hpp"
#include "server/core/api/server_wide.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/hub/pools.hpp"

namespace muster::server {

class closure_hubs {
 public:
  struct environment {
    /// A line for the event feed, and one for the feed and the log.
    std::function<void(notice const&)> tell, remark;
    std::function<void(std::vector<core::value_move>)> move_values;
    data_directory* data = nullptr;  // null: nothing is durable
    std::function<void()> check;     // returns if the server may still answer
    /// The value of a closure of before names this blob.
    std::function<void(core::closure_id, std::string const& hash)> keep_blob;
  };

  /// REQUIRES: all outlive it.
  closure_hubs(configuration const& c, coro::engine_context& engine, anchored_clock const& clock,
               coordination_hub& clusters, environment e);

  server::pools& pools() { return pools_; }

  /// The jobs that stand in the data directory, which is open. Before the engine runs.
  void restore();

 private:
  using cluster_id = core::coordination::cluster_id;
  struct timed_hub;

  cluster_id main_cluster() const;
  muster::result<cluster_id> find(std::string_view name) const;
  core::config config_of(core::coordination::cluster_spec const* cluster) const;
  hub_environment surroundings(coro::timer& deadline, std::function<void()> on_deadline,
                               std::string cluster, pool_surroundings pool);
  std::shared_ptr<hub> make(cluster_id cluster, pool_surroundings pool);
  void make_room_soon();
  void keep_blobs(core::restored_job const& job);

  configuration const& configuration_;
  coro::engine_context& engine_;
  anchored_clock const& clock_;
  coordination_hub& clusters_;
  environment const environment_;
  std::string const main_name_;
  core::server_wide wide_;
  coro::timer deadline_, room_;
  bool room_asked_ = false;
  hub main_;
  server::pools pools_;
};

}  // namespace muster::server
