// Hands one line to whatever set_log chose. Any thread.
#pragma once

#include <string_view>

#include "muster/log.hpp"

namespace muster {

void log(log_level level, std::string_view line);

}  // namespace muster
