// Pure function for natural order: runs of digits compare as numbers, so "w-2" precedes "w-10".
#pragma once

#include <string_view>

namespace muster::cluster {

/// Implements a strict order. Strings that differ only in leading zeros are compared as strings.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace muster::cluster
