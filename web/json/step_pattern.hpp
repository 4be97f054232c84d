// What says which of a rank's lines tell of a step.
#pragma once

#include <string>

#include "web/json/json_fields.hpp"

namespace muster::web {

/// RE2 with a group, of 256 bytes at most.
json_kind<std::string> a_step_pattern();

}  // namespace muster::web
