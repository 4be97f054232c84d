// One TPU of Google Cloud, as the Cloud TPU API and the TPU's own hosts tell about it. Nothing is
// kept between questions but the project, the zone and a token. Used by one thread at a time.
//
// Link muster::cluster_http. It is not a part of muster::client.
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
  std::string type;  // "OUT_OF_MEMORY"
  std::string at;    // RFC 3339
  std::string worker_id;
  std::string details;
  std::string where;  // for errors about it
};

struct tpu_node {
  std::string state, health, health_description;
  std::string accelerator_type;      // "v3-32"
  std::string generation, topology;  // "V4", "2x2x4"; empty where the API does not say
  std::string runtime_version;
  std::vector<std::string> endpoints;  // "10.0.0.1:8470"; empty while it is being made
  std::vector<tpu_symptom> symptoms;

  /// Returns whether the state is READY; an answer of older APIs has no state and counts as READY.
  bool is_ready() const { return state.empty() || state == "READY"; }
  bool is_healthy() const { return is_ready() && health == "HEALTHY"; }
};

class cloud_tpu_client {
 public:
  struct options {
    /// Unset: the environment says.
    std::optional<std::vector<std::string>> tpu = {};
    std::string project = {};  // empty: this machine's, from the metadata server
    std::string zone = {};     // likewise
    std::string api_url = "https://tpu.googleapis.com";
    std::string api_version = "v2";
    /// Of a discovery document that says where the API is, "{api}" and "{apiVersion}" in it are
    /// filled in; TPU_API_DISCOVERY_URL in the environment overrides it. Empty: `api_url`.
    std::string discovery_url = {};
    std::string token_file = {};  // empty: application-default credentials
    /// Where the hosts answer requests for another version.
    int version_port = 8475;
    /// Whether a host that ran out of memory makes the TPU one that does not recover.
    bool runtime_oom_exit = true, hbm_oom_exit = true;
    api_limits limits = {};
    time_source time = real_time();
  };
  enum class restart { always, if_needed };

  /// missing, invalid: as find_tpu.
  cloud_tpu_client(environment_lookup environment, options o);
  cloud_tpu_client(cloud_tpu_client const&) = delete;
  ~cloud_tpu_client();

  tpu_name const& name() const { return name_; }
  google_metadata& metadata() { return *metadata_; }

  /// "Could not lookup TPU metadata from name "n": …", of the kind that the cause has. Only for
  /// names that the API knows.
  tpu_node node() { return node(options_.limits); }
  /// not_ready: `TPU "n" is not yet ready; state: "CREATING"`. No state at all is taken for ready:
  /// older APIs say none.
  tpu_node ready_node();

  /// "10.0.0.1:8470" of each host; none for `local`. not_ready as ready_node.
  std::vector<std::string> endpoints();

  // Unset where the API does not know the TPU, or does not say.
  std::optional<std::string> state() { return told(&tpu_node::state); }
  std::optional<std::string> health() { return told(&tpu_node::health); }
  std::optional<std::string> runtime_version() { return told(&tpu_node::runtime_version); }
  std::optional<std::string> accelerator_type() { return told(&tpu_node::accelerator_type); }

  /// False once it is terminated or preempted, or within 90 s of a host's running out of memory.
  bool recoverable();
  /// The same of an answer that is there.
  bool recoverable(tpu_node const& n) const;

  /// not_ready: "Timed out waiting for TPU "n" to be healthy", with what was last seen; invalid:
  /// the API does not know the TPU. Asks anew each `interval`; the last question may take 5 s
  /// longer.
  void wait_for_healthy(std::chrono::milliseconds timeout = std::chrono::seconds(1200),
                        std::chrono::milliseconds interval = std::chrono::seconds(30));

  /// Asks every host for another version. missing: a host cannot do that; all are asked before the
  /// first fault is thrown.
  void configure_version(std::string const& version, restart how = restart::always);
  /// What the first host runs; unset when it cannot tell.
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
