// Remarks about tasks, shown to users. Main thread.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// Returns why a task is unhealthy, what it waits for, or its devices. Empty: no remark.
std::string remark_on_task(json::value const& task);

}  // namespace muster::cli
