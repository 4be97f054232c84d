// Reads a cluster spec from parsed JSON, such as a field of TF_CONFIG.
#pragma once

#include <string>

#include "launch/cluster/json_text.hpp"
#include "muster/cluster_spec.hpp"

namespace muster::cluster {

/// @param path position of the value in its text: "" or "cluster"
/// @throws cluster_error (invalid), for example "TF_CONFIG: cluster.worker[1] is a number, not a
///   string such as \"host:2222\""
cluster_spec spec_from(json::value const& v, std::string const& origin, std::string const& path);

}  // namespace muster::cluster
