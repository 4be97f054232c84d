// Passes a line to the function set with set_log. Thread-safe.
#pragma once

#include <string_view>

#include "muster/log.hpp"

namespace muster {

void log(log_level level, std::string_view line);

}  // namespace muster
