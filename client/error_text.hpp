// The message of an error, as people read it. Pure; any thread.
#pragma once

#include <exception>
#include <string>

namespace muster {

/// Returns the message of an error. Of an error of Boost.System it leaves out the error's number
/// and the place in the source code, which what() appends.
std::string error_text(std::exception const& error);

}  // namespace muster
