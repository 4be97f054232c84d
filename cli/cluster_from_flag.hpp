// The --cluster-from flag: a cluster whose tasks a resolver knows.
#pragma once

#include <string>

#include "server/app/cluster_source.hpp"

namespace muster::cli {

/// "KIND:…" or "KIND:…|key=value;…": behind the bar are the keys of --cluster, and name, every and
/// timeout. INVALID_ARGUMENT names the part that is wrong and what to write instead.
muster::result<server::cluster_source> parse_cluster_from(std::string const& text);

}  // namespace muster::cli
