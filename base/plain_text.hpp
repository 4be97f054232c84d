// Formats numbers for display. Pure functions.
#pragma once

#include <string>

namespace muster {

/// Returns a number without an exponent: "50.125", "0" for 0.0.
std::string plain_decimal(double number);

}  // namespace muster
