// The --cluster flag of `muster serve`: NAME:JOB=N[,JOB=N…][;key=value…].
#pragma once

#include <string>
#include <string_view>

#include "server/core/coordination/api/cluster_spec.hpp"

namespace muster::cli {

/// "default:worker=4,ps=2;heartbeat_timeout=30s;recoverable=true", or "default" alone for a cluster
/// of closure workers only. `recoverable` is true, false, or the jobs it holds for: ps+worker.
/// Errors: INVALID_ARGUMENT names the part that is wrong and what may stand there.
muster::result<core::coordination::cluster_spec> parse_cluster(std::string_view text);

/// The same form; keys that have their default are left out.
std::string to_string(core::coordination::cluster_spec const& spec);

}  // namespace muster::cli
