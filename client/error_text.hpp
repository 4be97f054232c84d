// The message of an exception, for display. Thread-safe.
#pragma once

#include <exception>
#include <string>

namespace muster {

/// Returns the message of an exception. For an error of Boost.System it omits the number and source
/// location that what() appends.
std::string error_text(std::exception const& error);

}  // namespace muster
