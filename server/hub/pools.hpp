// Each cluster has its own hub, so that names, queues, workers and limits are separate. The main
// hub always exists. Another hub is created when a worker or a job first needs it, and is removed
// with its cluster.
//
// Existing objects are found by their ID, which is unique in the server. Owned by the composition
// root; used only on the engine thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include "server/core/api/server_wide.hpp"
#include "server/hub/hub.hpp"

namespace muster::server {

/// Empty in a server with a single cluster.
struct pools_dependencies {
  using cluster_id = core::coordination::cluster_id;
  /// `default` means the main cluster unless a cluster has that name. Returns NOT_FOUND if there is
  /// no such cluster.
  std::function<muster::result<cluster_id>(std::string_view name)> find = {};
  /// Returns the main port's cluster, or nothing if it is not declared.
  std::function<cluster_id()> main = {};
  /// Creates a cluster's hub with these dependencies, in addition to the usual ones.
  std::function<std::shared_ptr<hub>(cluster_id, pool_dependencies)> make = {};
};

class pools {
 public:
  using cluster_id = core::coordination::cluster_id;

  /// REQUIRES: `main` outlives the pools and shares `wide`.
  explicit pools(hub& main, core::server_wide& wide, pools_dependencies e = {});
  pools(pools const&) = delete;

  hub& main() { return main_; }
  /// Returns the cluster's hub, and creates it if necessary. Returns NOT_FOUND if there is no such
  /// cluster, or RESOURCE_EXHAUSTED at a limit.
  muster::result<hub*> of(cluster_id c);
  /// An empty name means the main cluster. Returns the same errors as `of`.
  muster::result<hub*> named(std::string_view cluster);
  /// Returns null if the hub has not been created yet.
  hub* existing(cluster_id c);

  /// Returns the bytes of blobs that count for a token. Must be set before requests are served.
  std::function<std::uint64_t(std::string_view token)> blob_bytes_of = [](auto) {
    return std::uint64_t{0};
  };

  /// Returns the hub that knows the ID, otherwise the main hub, which then reports NOT_FOUND.
  hub& of(core::session_id id) { return hub_of(id); }
  hub& of(core::closure_id id) { return hub_of(id); }
  hub& of(core::per_worker_id id) { return hub_of(id); }
  hub& of(core::program_id id) { return hub_of(id); }

  /// Calls `f` with each hub, starting with the main hub.
  template <class F>
  void for_each(F f) {
    f(main_);
    for (auto& [cluster, h] : others_) f(*h);
  }

  void forget(core::call_id call);
  void moved(core::values_moved m);
  void make_room();
  /// Returns what prevents the cluster's deletion, such as workers and unfinished jobs or programs.
  /// Returns an empty string if nothing prevents it.
  std::string in_use(cluster_id c);
  /// Answers the calls of the cluster's hub, and ends its workers and sessions with `why`.
  void remove(cluster_id c, std::string const& why);
  void stop();

 private:
  template <class Id>
  hub& hub_of(Id id) {
    for (auto& [cluster, h] : others_)
      if (h->state().knows(id)) return *h;
    return main_;
  }
  void share_logs();

  hub& main_;
  core::server_wide& wide_;
  pools_dependencies dependencies_;
  std::map<cluster_id, std::shared_ptr<hub>> others_;
  std::size_t const log_bytes_max_;
  std::uint64_t made_ = 0;
  bool stopped_ = false;
};

}  // namespace muster::server
