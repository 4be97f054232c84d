// Describes the outcome of an attempt, such as "worker lost: connection reset".
#pragma once

#include <string>

#include "server/core/api/attempt_outcome.hpp"

namespace muster::core {

std::string text(attempt_outcome const& o);

}  // namespace muster::core
