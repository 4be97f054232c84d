// The hosts of a Cloud TPU as tasks of one job, and a coordinator beside them if one is wanted.
//
// Link muster::cluster_http. It is not a part of muster::client.
#pragma once

#include "muster/cloud_tpu_client.hpp"
#include "muster/cluster_resolver.hpp"

namespace muster {

class tpu_resolver : public cluster_resolver {
 public:
  /// How often the devices are asked for while nobody answers, a second apart.
  static constexpr int device_tries_max = 120;

  struct options {
    cluster::cloud_tpu_client::options tpu = {};
    std::string job_name = "worker";
    /// Empty: no coordinator in the cluster.
    std::string coordinator_name = {};
    /// Empty: this machine as the TPU sees it, with the port of `start_coordinator`.
    std::string coordinator_address = {};
    /// Starts what the TPU's hosts will connect to, on the given address of this machine, and says
    /// its port. Without it a `muster serve` on its usual port is expected there.
    std::function<int(std::string const& local_ip)> start_coordinator = {};
    std::string rpc_layer = "grpc";
  };

  /// invalid: a coordinator's address without a name, or one job for both; else as find_tpu.
  tpu_resolver(environment_lookup environment, options o);

  /// Empty for `local` and for a server that is handed on. not_ready: the TPU is not READY.
  muster::cluster_spec cluster_spec() override;
  /// As the others'; the first host where nothing says which. missing: the TPU has no hosts.
  std::string master(std::optional<std::string> type = {}, std::optional<int> id = {},
                     std::optional<std::string> rpc_layer = {}) override;
  /// {"TPU", cores of a host}: of the devices where somebody lists them, else as the API says; none
  /// are known for addresses. invalid: hosts differ; unreachable: nobody lists them in time.
  std::map<std::string, int> num_accelerators(std::optional<std::string> type = {},
                                              std::optional<int> id = {}) override;

  /// "10.0.0.1:8476": of the coordinator beside the hosts, as the spec has it; empty where none is
  /// named. not_ready as cluster_spec, where its address depends on the TPU's.
  std::string coordinator_address();

  /// The task that agents of the coordination service take for the first: "/job:worker/task:0".
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
