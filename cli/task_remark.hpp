// Remarks about tasks for users. Used on the main thread.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// Returns why a task is unhealthy, what it waits for, or its devices; can be empty.
std::string remark_on_task(json::value const& task);

}  // namespace muster::cli
