// Access to cloud resolvers. A build without these resolvers reports that they are missing.
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "muster/make_resolver.hpp"

namespace muster::cli {

/// Adds the cloud kinds, or kinds that report that this build does not include cloud resolvers.
void add_cloud_kinds(resolver_kinds& to);

struct tpu_health {
  boost::json::object told;
  bool is_healthy = false;
};

/// Throws cluster_error with code `invalid` if the resolver is of another kind, or if the TPU was
/// not given by name.
tpu_health health_of(cluster_resolver& resolver);
/// Queries the API at each interval until the TPU is healthy. Throws the same errors as
/// health_of(), and the API's errors.
void wait_until_healthy(cluster_resolver& resolver, std::chrono::milliseconds limit,
                        std::chrono::milliseconds interval);

struct found_coordinator {
  std::string address, leader;
};

/// Returns the coordinator that runs next to a TPU, or nothing if the resolver is of another kind.
/// Throws cluster_error with code `missing` if no coordinator is named.
std::optional<found_coordinator> coordinator_beside_tpu(cluster_resolver& resolver);

}  // namespace muster::cli
