// The closures of all clusters: one hub each, so that names, queues, workers and limits of one do
// not meet those of another. The main one is always there; another is made when its cluster is
// first asked for by a worker or for a job, and goes with the cluster.
//
// Newcomers say the cluster; what exists is found by its id, which is the server's. Owned by the
// composition root, above all that serves; engine thread only. As many hubs as there are clusters.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include "server/core/api/server_wide.hpp"
#include "server/hub/hub.hpp"

namespace muster::server {

/// What the pools need from outside. Empty in a server of one cluster: then only the
/// main pool is ever found.
struct pools_dependencies {
  using cluster_id = core::coordination::cluster_id;
  /// The cluster of this name; the main one's for `default` where no cluster is called so.
  /// NOT_FOUND.
  std::function<muster::result<cluster_id>(std::string_view name)> find = {};
  /// The main port's cluster, none when it is not declared.
  std::function<cluster_id()> main = {};
  /// The hub of a cluster that had none, with these dependencies beside the usual ones.
  std::function<std::shared_ptr<hub>(cluster_id, pool_dependencies)> make = {};
};

class pools {
 public:
  using cluster_id = core::coordination::cluster_id;

  /// REQUIRES: `main` outlives it and is called below `wide`, which is one of the dependencies.
  explicit pools(hub& main, core::server_wide& wide, pools_dependencies e = {});
  pools(pools const&) = delete;

  hub& main() { return main_; }
  /// The cluster's hub, made if need be. NOT_FOUND: it does not exist; RESOURCE_EXHAUSTED.
  muster::result<hub*> of(cluster_id c);
  /// The same by name; empty: the main one.
  muster::result<hub*> named(std::string_view cluster);
  /// Null while nobody has asked for it.
  hub* existing(cluster_id c);

  /// Returns the bytes of blobs that count for a token; see blob_store. Set before anybody is
  /// served.
  std::function<std::uint64_t(std::string_view token)> blob_bytes_of = [](auto) {
    return std::uint64_t{0};
  };

  /// Who knows the id; the main one, which says that it is unknown, when nobody does.
  hub& of(core::session_id id) { return knowing(id); }
  hub& of(core::closure_id id) { return knowing(id); }
  hub& of(core::per_worker_id id) { return knowing(id); }
  hub& of(core::program_id id) { return knowing(id); }

  /// Main first.
  template <class F>
  void for_each(F f) {
    f(main_);
    for (auto& [cluster, h] : others_) f(*h);
  }

  /// The caller of a parked call went away, whichever hub it was.
  void forget(core::call_id call);
  /// Of values that the disk has dealt with.
  void moved(core::values_moved m);
  /// Those that keep more than their share of values let the oldest go.
  void make_room();
  /// What stands in the way of deleting the cluster: workers and jobs that have not ended. Empty:
  /// nothing does.
  std::string in_use(cluster_id c);
  /// Everything of the cluster ends: calls are answered, workers and sessions are told `why`.
  void remove(cluster_id c, std::string const& why);
  /// Every parked call is answered; nothing new is taken.
  void stop();

 private:
  template <class Id>
  hub& knowing(Id id) {
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
