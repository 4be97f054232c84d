// The version of this build, as CMakeLists.txt names it. There is no other place that says it: C++
// asks here, and tests/deploy compares what CMake cannot reach (the Python package).
#pragma once

#include <string_view>

namespace muster {

std::string_view version() noexcept;

}  // namespace muster
