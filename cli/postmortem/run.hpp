// The report on a run of a cluster, from `facts` (page.hpp) with the `cluster`, its `run` (the
// generation that goes on, or one of its past ones) and, of the one that goes on, `stragglers`.
// Pure.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli::postmortem {

std::string run_report(json::value const& facts);

}  // namespace muster::cli::postmortem
