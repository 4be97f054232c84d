// Sessions as the records name them. Unlike an id, a number is small, dense and used again: it is
// an index, and only the inside of the core knows it. 0 means none. Of workers: api/ids.hpp.
#pragma once

#include "server/core/api/ids.hpp"

namespace muster::core {

enum class session_number : std::uint32_t {};

}  // namespace muster::core
