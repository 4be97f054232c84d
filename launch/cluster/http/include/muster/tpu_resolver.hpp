// Treats the hosts of a Cloud TPU as tasks of one job, with an optional coordinator.
//
// Link muster::cluster_http.
#pragma once

#include "muster/cloud_tpu_client.hpp"
#include "muster/cluster_resolver.hpp"

namespace muster {

class tpu_resolver : public cluster_resolver {
 public:
  /// Devices are listed at most once per second.
  static constexpr int device_tries_max = 120;

  struct options {
    cluster::cloud_tpu_client::options tpu = {};
    std::string job_name = "worker";
    std::string coordinator_name = {};
    /// Address of the coordinator. If empty, this machine's address as seen by the TPU, with the
    /// port of `start_coordinator`.
    std::string coordinator_address = {};
    /// Starts the coordinator for the TPU's hosts on the given address of this machine, and returns
    /// its port. If not set, `muster serve` must run on this machine on its default port.
    std::function<int(std::string const& local_ip)> start_coordinator = {};
    std::string rpc_layer = "grpc";
  };

  /// @throws cluster_error (invalid) if a coordinator address has no name, or if hosts and
  ///   coordinator have the same job; otherwise the errors of find_tpu()
  tpu_resolver(environment_lookup environment, options o);

  /// Returns an empty spec for `local` and for an existing server.
  /// @throws cluster_error (not_ready) if the TPU is not READY
  muster::cluster_spec cluster_spec() override;
  /// Returns the master address of a task, by default of the first host.
  /// @throws cluster_error (missing) if the TPU has no hosts
  std::string master(std::optional<std::string> type = {}, std::optional<int> id = {},
                     std::optional<std::string> rpc_layer = {}) override;
  /// Returns {"TPU", cores per host}, from listed devices if list_devices() is set, otherwise from
  /// the API. Returns an empty map for a TPU given by addresses.
  /// @throws cluster_error (invalid) if hosts have different numbers of cores, or (unreachable) if
  ///   devices cannot be listed in time
  std::map<std::string, int> num_accelerators(std::optional<std::string> type = {},
                                              std::optional<int> id = {}) override;

  /// Returns for example "10.0.0.1:8476", or "" without a coordinator.
  /// @throws cluster_error (not_ready), as cluster_spec() does, if the address depends on the TPU
  std::string coordinator_address();

  /// Returns the first task for agents of the coordination service: "/job:worker/task:0".
  std::string coordination_leader() const;

  cluster::cloud_tpu_client& tpu() { return tpu_; }

 private:
  std::string const& coordinator(std::string const& endpoint);
  int listed_cores();
  int local_cores();

  options const options_;
  cluster::cloud_tpu_client tpu_;
  std::string coordinator_;
};

}  // namespace muster
