// Numbers of sessions, which records use instead of ids. They are small, dense and reused, so that
// they serve as indices; only the core uses them. 0 means none. For workers see api/ids.hpp.
#pragma once

#include "server/core/api/ids.hpp"

namespace muster::core {

enum class session_number : std::uint32_t {};

}  // namespace muster::core
