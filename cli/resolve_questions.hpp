// What `muster resolve` asks a resolver besides the cluster: a TPU's health, accelerators, where
// the coordinator is. One thread; each blocks for as long as the resolver's time limits say. Faults
// are cluster_error.
#pragma once

#include "cli/rest.hpp"
#include "muster/cluster_resolver.hpp"

namespace muster::cli {

/// Prints what the API says about a TPU. exit_failed: it is not healthy. invalid: the resolver is
/// of another kind, or the TPU was not given by its name.
exit_status print_health(cluster_resolver& resolver, output_format output);

/// not_ready: not within `timeout`; invalid as print_health.
void wait_until_healthy(cluster_resolver& resolver, duration timeout, duration interval);

/// By kind, {"TPU": 8}: of a host of a TPU, else of all tasks together.
void print_accelerators(cluster_resolver& resolver, output_format output);

/// The coordinator beside a TPU, else the task that leads: ps 0, chief 0 or worker 0. missing:
/// there is none.
void print_coordinator(cluster_resolver& resolver, output_format output);

}  // namespace muster::cli
