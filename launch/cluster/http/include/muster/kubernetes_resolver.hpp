// The tasks of a cluster are pods: those that label selectors choose, in the order of their names.
//
// Within a pod the service account says whom to ask and who is asking; elsewhere the options do.
// Tokens and authorities are read anew for each question, since they are renewed. A pod that is
// itself one of the tasks finds out which: by POD_NAME where the manifest sets it, else by
// HOSTNAME, which is the name of a plain pod and job-index in an indexed Job.
//
// Link muster::cluster_http. It is not a part of muster::client.
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
  /// Where this program runs. automatic: off the cluster when a server is given.
  enum class location { automatic, within_cluster, off_cluster };
  /// "within-cluster", "off-cluster", "auto". invalid: another text.
  static location parse_location(std::string_view text);

  struct options {
    /// Label selectors of each job; a job's tasks are those of its first selector, then of the
    /// next.
    std::map<std::string, std::vector<std::string>> jobs = {{"worker", {"job-name=tensorflow"}}};
    /// So many pods all together are waited for: fewer or more are not ready. 0: any number.
    int tasks = 0;
    int port = 8470;
    /// Empty: the pod's own, off the cluster "default". "*": all.
    std::string name_space = {};
    bool host_ip = false;  // the node's address in place of the pod's
    /// "w-10" is after "w-2"; false: names compare as texts.
    bool natural_order = true;
    /// Pods that have ended do not count; otherwise they are a fault like every pod not running.
    bool skip_finished = false;
    std::string rpc_layer = "grpc";

    location where = location::automatic;
    std::string service_account = "/var/run/secrets/kubernetes.io/serviceaccount";
    // Off the cluster.
    std::string server = {};  // "https://10.0.0.1:6443"
    std::string token_file = {};
    std::string ca_file = {};
    bool verify = true;

    cluster::api_limits limits = {};
    cluster::time_source time = cluster::real_time();
  };

  /// invalid: options that contradict each other.
  kubernetes_resolver(environment_lookup environment, options o);

  /// not_ready: a pod is not running, a job has none, or they are not as many as expected; denied:
  /// the token, or what the account may do; missing: this is no pod; unreachable.
  muster::cluster_spec cluster_spec() override;

  // As set, else what the last cluster_spec() found; it is asked where there was none.
  using cluster_resolver::task_id;
  using cluster_resolver::task_type;
  std::optional<std::string> task_type() override;
  std::optional<int> task_id() override;

  /// What the pods' containers are limited to, as {"GPU", 8} of nvidia.com/gpu: 8; of listed
  /// devices where somebody lists them. Asks anew.
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
  /// Whether a pod is the one that this program runs in.
  std::function<bool(pod const&)> find_self() const;

  environment_lookup const environment_lookup_;
  options const options_;
  std::optional<std::pair<std::string, int>> own_task_;
  bool asked_ = false;
  std::map<std::pair<std::string, int>, std::map<std::string, int>> accelerators_;
};

}  // namespace muster
