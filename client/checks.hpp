// What every name and every argument that a user gives must satisfy. Pure; any thread. Errors:
// std::invalid_argument says what is wrong.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

void check_function_name(std::string_view name);
void check_argument_bytes(std::size_t bytes);

/// "20 ms"
std::string in_ms(std::chrono::milliseconds t);

}  // namespace muster
