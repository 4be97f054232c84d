// Version of this build, defined in CMakeLists.txt only. tests/deploy compares the version of the
// Python package with it.
#pragma once

#include <string_view>

namespace muster {

std::string_view version() noexcept;

}  // namespace muster
