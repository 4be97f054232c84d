// The flags of `muster serve` that declare clusters: --cluster NAME:JOB=N[,JOB=N…][;key=value…],
// and --cluster-from, a cluster whose tasks a resolver knows.
#pragma once

#include <string>
#include <string_view>

#include "app/cluster_source.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::cli {

/// "default:worker=4,ps=2;heartbeat_timeout=30s;recoverable=true", or "default" alone for a cluster
/// of closure workers only. `recoverable` is true, false, or the jobs it holds for: ps+worker.
/// Errors: INVALID_ARGUMENT names the part that is wrong and what may stand there.
muster::result<core::coordination::cluster_spec> parse_cluster(std::string_view text);

/// "KIND:…" or "KIND:…|key=value;…": behind the bar are the keys of --cluster, and name, every and
/// timeout. INVALID_ARGUMENT names the part that is wrong and what to write instead.
muster::result<server::cluster_source> parse_cluster_from(std::string const& text);

/// The form of --cluster; keys that have their default are left out.
std::string to_string(core::coordination::cluster_spec const& spec);

}  // namespace muster::cli
