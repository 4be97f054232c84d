// Functions that convert ids to text.
#pragma once

#include <string>

#include "server/core/api/ids.hpp"

namespace muster::core {

std::string text(session_id id);     // job_…
std::string text(closure_id id);     // cl_…
std::string text(per_worker_id id);  // pw_…

}  // namespace muster::core
