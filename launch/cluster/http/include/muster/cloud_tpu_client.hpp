// A Google Cloud TPU, as reported by the Cloud TPU API and the TPU's hosts. Caches only the
// project, the zone and a token. Not thread-safe.
//
// Link muster::cluster_http.
#pragma once

#include <memory>

#include "muster/api_limits.hpp"
#include "muster/time_source.hpp"
#include "muster/tpu_name.hpp"

namespace muster::cluster {

class api_client;
struct api_service;
class google_credentials;
class google_metadata;

struct tpu_symptom {
  std::string type;
  std::string at;  // RFC 3339
  std::string worker_id;
  std::string details;
  std::string where;
};

struct tpu_node {
  std::string state, health, health_description;
  std::string accelerator_type;
  std::string generation, topology;  // for example "V4", "2x2x4"; can be empty
  std::string runtime_version;
  std::vector<std::string> endpoints;  // for example "10.0.0.1:8470"; empty while the TPU is being
                                       // created
  std::vector<tpu_symptom> symptoms;

  /// Returns true for READY, and for older APIs, which report no state.
  bool is_ready() const { return state.empty() || state == "READY"; }
  bool is_healthy() const { return is_ready() && health == "HEALTHY"; }
};

class cloud_tpu_client {
 public:
  struct options {
    /// If not set, the environment determines the TPU.
    std::optional<std::vector<std::string>> tpu = {};
    std::string project = {};  // if empty, read from the metadata server
    std::string zone = {};     // if empty, read from the metadata server
    std::string api_url = "https://tpu.googleapis.com";
    std::string api_version = "v2";
    /// URL of a discovery document that contains the address of the API; "{api}" and "{apiVersion}"
    /// are replaced. The environment variable TPU_API_DISCOVERY_URL overrides this URL. If empty,
    /// `api_url` is used.
    std::string discovery_url = {};
    std::string token_file = {};  // if empty, application-default credentials are used
    /// Port on which hosts accept requests for a different version.
    int version_port = 8475;
    /// Whether a host that ran out of memory makes the TPU unrecoverable.
    bool runtime_oom_exit = true, hbm_oom_exit = true;
    api_limits limits = {};
    time_source time = real_time();
  };
  enum class restart { always, if_needed };

  /// Throws the same errors as find_tpu().
  cloud_tpu_client(environment_lookup environment, options o);
  cloud_tpu_client(cloud_tpu_client const&) = delete;
  ~cloud_tpu_client();

  tpu_name const& name() const { return name_; }
  google_metadata& metadata() { return *metadata_; }

  /// Returns the node. The API must know the TPU's name.
  /// @throws cluster_error with the cause's code and the message
  ///   `Could not lookup TPU metadata from name "n": …`
  tpu_node node() { return node(options_.limits); }
  /// Returns the node if it is READY or, as in older APIs, has no state.
  /// @throws cluster_error (not_ready) with the message
  ///   `TPU "n" is not yet ready; state: "CREATING"`
  tpu_node ready_node();

  /// Returns the address of each host, such as "10.0.0.1:8470". Returns an empty list for `local`.
  /// Throws the same errors as ready_node().
  std::vector<std::string> endpoints();

  // These functions return nullopt if the API does not know the TPU, or does not report the value.
  std::optional<std::string> state() { return told(&tpu_node::state); }
  std::optional<std::string> health() { return told(&tpu_node::health); }
  std::optional<std::string> runtime_version() { return told(&tpu_node::runtime_version); }
  std::optional<std::string> accelerator_type() { return told(&tpu_node::accelerator_type); }

  /// Returns false after the TPU was terminated or preempted, and for 90 s after a host ran out of
  /// memory.
  bool recoverable();
  bool recoverable(tpu_node const& n) const;

  /// Polls the state every `interval`. The last query can exceed the timeout by 5 s.
  /// @throws cluster_error (not_ready) with the message
  ///   `Timed out waiting for TPU "n" to become healthy` and the last state
  /// @throws cluster_error (invalid) if the API does not know the TPU
  void wait_for_healthy(std::chrono::milliseconds timeout = std::chrono::seconds(1200),
                        std::chrono::milliseconds interval = std::chrono::seconds(30));

  /// Requests a different version from every host. Queries all hosts before it throws the first
  /// error.
  /// @throws cluster_error (missing) if a host does not support this request
  void configure_version(std::string const& version, restart how = restart::always);
  /// Returns nullopt if the first host does not report its version.
  std::optional<std::string> current_version();

 private:
  tpu_node node(api_limits const& limits);
  std::optional<std::string> told(std::string tpu_node::*field);
  std::string node_url();
  std::string find_api();
  api_service service() const;
  api_client make_client(api_limits const& limits);
  std::string version_url(std::string const& endpoint) const;

  environment_lookup const environment_;
  options options_;
  tpu_name const name_;
  std::unique_ptr<google_metadata> metadata_;
  std::unique_ptr<google_credentials> credentials_;
};

}  // namespace muster::cluster
