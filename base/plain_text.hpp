// Pure functions that format numbers for display.
#pragma once

#include <string>

namespace muster {

/// Returns a number without an exponent, such as "50.125", or "0" for 0.0.
std::string plain_decimal(double number);

}  // namespace muster
