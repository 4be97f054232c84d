// Session numbers, which core records use instead of ids: small, dense and reused. 0 means no
// session. For worker numbers, see api/ids.hpp.
#pragma once

#include "server/core/api/ids.hpp"

namespace muster::core {

enum class session_number : std::uint32_t {};

}  // namespace muster::core
