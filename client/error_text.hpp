// Exception messages for display. Thread-safe.
#pragma once

#include <exception>
#include <string>

namespace muster {

/// Returns the exception's message. For Boost.System errors, omits the number and source location
/// that what() appends.
std::string error_text(std::exception const& error);

}  // namespace muster
