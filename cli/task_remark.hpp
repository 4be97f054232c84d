// Tasks in words. Main thread.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// Says why a task is not well, what it waits for, or what devices it has. Empty: nothing to say.
std::string remark_on_task(json::value const& task);

}  // namespace muster::cli
