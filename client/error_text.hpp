// Exception messages for display.
#pragma once

#include <exception>
#include <string>

namespace muster {

/// Returns what(), without the number and source location that Boost.System appends.
std::string error_text(std::exception const& error);

}  // namespace muster
