// Version of this build, defined only in CMakeLists.txt. tests/deploy compares the Python package's
// version with it.
#pragma once

#include <string_view>

namespace muster {

std::string_view version() noexcept;

}  // namespace muster
