// Numbers and errors as people read them. Pure functions.
#pragma once

#include <exception>
#include <string>

namespace muster {

/// A number without an exponent: "50.125", "0" for 0.0.
std::string plain_decimal(double number);

/// Returns the message of an error. Of an error of Boost.System it leaves out the error's number
/// and the place in the source code, which what() appends.
std::string plain_text(std::exception const& error);

}  // namespace muster
