// What the command line asks of the resolvers of clouds. A build without them reports it.
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "muster/make_resolver.hpp"

namespace muster::cli {

/// Adds the kinds that ask the services of clouds, or kinds that report that they are left out.
void add_cloud_kinds(resolver_kinds& to);

struct tpu_health {
  boost::json::object told;
  bool is_healthy = false;  // READY and HEALTHY
};

/// Returns what the API says about a TPU. Errors: invalid if the resolver is of another kind, or
/// the TPU was not given by its name.
tpu_health health_of(cluster_resolver& resolver);
/// Asks again after each interval. Errors: as `health_of`, and those of the API.
void wait_until_healthy(cluster_resolver& resolver, std::chrono::milliseconds limit,
                        std::chrono::milliseconds interval);

struct found_coordinator {
  std::string address, leader;
};

/// Returns the coordinator beside a TPU; nothing if the resolver is of another kind. Errors:
/// missing if none is named.
std::optional<found_coordinator> coordinator_beside_tpu(cluster_resolver& resolver);

}  // namespace muster::cli
