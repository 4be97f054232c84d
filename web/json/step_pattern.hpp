// The pattern that recognises step reports in a rank's output.
#pragma once

#include <string>

#include "web/json/json_fields.hpp"

namespace muster::web {

/// Reads an RE2 expression of at most 256 bytes with a capturing group.
json_kind<std::string> a_step_pattern();

}  // namespace muster::web
