// The flags of `muster serve` that declare clusters: --cluster NAME:JOB=N[,JOB=N…][;key=value…],
// and --cluster-from, which takes the tasks of a cluster from a resolver.
#pragma once

#include <string>
#include <string_view>

#include "app/cluster_source.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::cli {

/// Parses "default:worker=4,ps=2;heartbeat_timeout=30s;recoverable=true", or only "default" for a
/// cluster of closure workers. `recoverable` is true, false, or jobs: ps+worker. INVALID_ARGUMENT
/// names the wrong part and the alternatives.
muster::result<core::coordination::cluster_spec> parse_cluster(std::string_view text);

/// Parses "KIND:…" or "KIND:…|key=value;…". Keys after the bar are those of --cluster, and name,
/// every and timeout. INVALID_ARGUMENT names the wrong part and a correction.
muster::result<server::cluster_source> parse_cluster_from(std::string const& text);

/// Returns the value of --cluster, without defaults.
std::string to_string(core::coordination::cluster_spec const& spec);

}  // namespace muster::cli
