// The version of this build. Only CMakeLists.txt defines it, and tests/deploy compares it with the
// Python package's version.
#pragma once

#include <string_view>

namespace muster {

std::string_view version() noexcept;

}  // namespace muster
