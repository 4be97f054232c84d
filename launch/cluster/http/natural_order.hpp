// The order in which people count: runs of digits compare as numbers, so "w-2" is before "w-10".
// Pure.
#pragma once

#include <string_view>

namespace muster::cluster {

/// A strict order of texts; those that differ only in zeros in front are ordered as texts.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace muster::cluster
