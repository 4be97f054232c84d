// The report on a run of a cluster. In addition to the members in page.hpp, its `facts` contain the
// `cluster`, its `run` (the current or an earlier generation) and, for the current generation,
// `stragglers`. Pure functions.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli::postmortem {

std::string run_report(json::value const& facts);

}  // namespace muster::cli::postmortem
