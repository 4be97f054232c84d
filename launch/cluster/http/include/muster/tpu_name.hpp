// Pure function that determines the TPU from the program's settings or the environment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/cluster_resolver.hpp"

namespace muster::cluster {

struct tpu_name {
  std::string name;
  bool local = false;                  // true if the TPU consists of this machine's chips
  std::vector<std::string> endpoints;  // if set, replaces the name and the lookup
  std::string project, zone;

  /// Existing server, such as "localhost:8470" or "/bns/…", which is returned unchanged.
  std::string master = {};

  /// Returns whether TensorFlow would report the environment "google": there is no cluster to find
  /// and no server to start.
  bool google() const { return local || !master.empty(); }
  bool by_api() const { return !google() && endpoints.empty(); }
};

constexpr int tpu_port = 8470;
constexpr std::size_t tpu_endpoints_max = 100'000;

/// Returns the TPU in `given`, or in KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS, TPU_NAME or TPU_CONFIG, in
/// this order. Accepted forms are `local`, localhost:PORT, /bns/…, a name, or comma-separated
/// addresses, of which the first begins with grpc://.
/// @throws cluster_error with code missing if there is no name, or invalid if `given` does not have
///   exactly one entry or the name is malformed
tpu_name find_tpu(std::optional<std::vector<std::string>> const& given,
                  environment_lookup const& environment);

}  // namespace muster::cluster
