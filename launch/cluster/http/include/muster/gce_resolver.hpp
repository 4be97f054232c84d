// Treats the running machines of a Google Compute Engine instance group as the tasks of a cluster,
// sorted by name.
//
// Link muster::cluster_http.
#pragma once

#include "muster/api_limits.hpp"
#include "muster/cluster_resolver.hpp"
#include "muster/time_source.hpp"

namespace muster {

namespace cluster {
class api_client;
}  // namespace cluster

class gce_resolver : public cluster_resolver {
 public:
  static constexpr int page_size = 500;
  static constexpr int pages_max = 2000;

  struct options {
    std::string project = {};  // if empty, read from the metadata server
    std::string zone = {};     // if empty, read from the metadata server
    std::string region = {};   // set for a regional group, which has no zone
    std::string instance_group;
    /// Expected number of machines. Any other number causes the error not_ready; 0 accepts any
    /// number.
    int tasks = 0;
    int port = 8470;
    std::string task_type = "worker";
    int task_id = 0;
    /// Whether the task ID is the index of this machine. The machine's name is read from the
    /// metadata server.
    bool find_own = false;
    std::string rpc_layer = "grpc";
    std::string api_url = "https://compute.googleapis.com/compute/v1";
    /// If empty, application-default credentials are used.
    std::string token_file = {};
    cluster::api_limits limits = {};
    cluster::time_source time = cluster::real_time();
  };

  /// @throws cluster_error (invalid) without a group, or if both a zone and a region are set
  gce_resolver(environment_lookup environment, options o);

  /// @throws cluster_error with code not_ready if the group has no running machine or not the
  ///   expected number, missing if the group does not exist, or denied or unreachable, depending on
  ///   the API's answer
  muster::cluster_spec cluster_spec() override;

  using cluster_resolver::task_type;
  /// @throws cluster_error (invalid) always, because all machines belong to the job in the options
  void task_type(std::optional<std::string> type) override;
  using cluster_resolver::task_id;
  std::optional<int> task_id() override;

 private:
  struct machine;
  std::vector<machine> running(cluster::api_client& api, std::string const& project,
                               std::string const& place) const;

  environment_lookup const environment_lookup_;
  options const options_;
  std::optional<int> own_id_;
};

}  // namespace muster
