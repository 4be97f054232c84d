// The `muster serve` flags that declare clusters: --cluster NAME:JOB=N[,JOB=N…][;key=value…], and
// --cluster-from, which reads the tasks from a resolver.
#pragma once

#include <string>
#include <string_view>

#include "app/cluster_source.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::cli {

/// Parses "default:worker=4,ps=2;heartbeat_timeout=30s;recoverable=true", or only "default" for a
/// cluster of closure workers. `recoverable` is true, false, or a list of jobs such as ps+worker.
/// An INVALID_ARGUMENT status names the wrong part and the alternatives.
muster::result<core::coordination::cluster_spec> parse_cluster(std::string_view text);

/// Parses "KIND:…" or "KIND:…|key=value;…". The keys after the bar are name, every, timeout and all
/// keys of --cluster. An INVALID_ARGUMENT status names the wrong part and a correction.
muster::result<server::cluster_source> parse_cluster_from(std::string const& text);

std::string to_string(core::coordination::cluster_spec const& spec);

}  // namespace muster::cli
