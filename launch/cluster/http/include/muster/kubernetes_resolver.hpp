// Treats pods, selected by labels and sorted by name, as the tasks of a cluster.
//
// Within a pod, the service account provides the API server and the credentials; elsewhere, the
// options provide both. Tokens and CAs are read at each query, because the cluster renews them. A
// pod identifies its own task by POD_NAME if the manifest sets it, otherwise by HOSTNAME. HOSTNAME
// is the pod's name, or job-index in an indexed Job.
//
// Link muster::cluster_http.
#pragma once

#include "muster/api_limits.hpp"
#include "muster/cluster_resolver.hpp"
#include "muster/time_source.hpp"

namespace muster {

namespace cluster {
class api_client;
struct api_service;
struct kubernetes_pod;
}  // namespace cluster

class kubernetes_resolver : public cluster_resolver {
 public:
  /// Where this program is running. `automatic` means off the cluster if a server is given.
  enum class location { automatic, within_cluster, off_cluster };
  /// Parses "within-cluster", "off-cluster" or "auto".
  /// @throws cluster_error (invalid) for other text
  static location parse_location(std::string_view text);

  struct options {
    /// Label selectors of each job. Tasks are numbered by selector, in this order.
    std::map<std::string, std::vector<std::string>> jobs = {{"worker", {"job-name=tensorflow"}}};
    /// Expected number of pods. Any other number causes the error not_ready; 0 accepts any number.
    int tasks = 0;
    int port = 8470;
    /// Namespace of the pods; "*" means all namespaces. If empty, the pod's own namespace is used,
    /// or "default" off the cluster.
    std::string name_space = {};
    bool host_ip = false;  // whether to use the address of the node instead of the pod
    /// If true, "w-10" follows "w-2". If false, names are compared character by character.
    bool natural_order = true;
    /// Whether to ignore pods that have ended. If false, such pods are errors, as are all pods that
    /// are not running.
    bool skip_finished = false;
    std::string rpc_layer = "grpc";

    location where = location::automatic;
    std::string service_account = "/var/run/secrets/kubernetes.io/serviceaccount";
    // The following options apply only off the cluster.
    std::string server = {};  // "https://10.0.0.1:6443"
    std::string token_file = {};
    std::string ca_file = {};
    bool verify = true;

    cluster::api_limits limits = {};
    cluster::time_source time = cluster::real_time();
  };

  /// @throws cluster_error (invalid) if options contradict each other
  kubernetes_resolver(environment_lookup environment, options o);

  /// @throws cluster_error (not_ready) if a pod is not running, a job has no pod, or the number of
  ///   pods differs from the expected number
  /// @throws cluster_error (denied) for a rejected token or missing permissions
  /// @throws cluster_error (missing) outside of a pod, (unreachable) if there is no answer
  muster::cluster_spec cluster_spec() override;

  // Returns the ID that was set or that the last cluster_spec() found. Calls cluster_spec() if
  // needed.
  using cluster_resolver::task_id;
  using cluster_resolver::task_type;
  std::optional<std::string> task_type() override;
  std::optional<int> task_id() override;

  /// Returns the accelerator limits of the pods' containers, for example {"GPU", 8} for
  /// nvidia.com/gpu: 8. If list_devices() is set, counts the listed devices instead. Queries the
  /// API server.
  std::map<std::string, int> num_accelerators(std::optional<std::string> type = {},
                                              std::optional<int> id = {}) override;

 private:
  struct access;
  using pod = cluster::kubernetes_pod;
  void learn_own_task();
  access find_access() const;
  std::vector<pod> chosen(cluster::api_client& api, access const& a,
                          std::string const& selector) const;
  cluster::api_service service(access const& a) const;
  std::string address(pod const& p) const;
  /// Returns a predicate that is true for this program's pod.
  std::function<bool(pod const&)> find_self() const;

  environment_lookup const environment_lookup_;
  options const options_;
  std::optional<std::pair<std::string, int>> own_task_;
  bool asked_ = false;
  std::map<std::pair<std::string, int>, std::map<std::string, int>> accelerators_;
};

}  // namespace muster
