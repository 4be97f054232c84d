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
/// Both empty, or a name alone, or a name and 64 hexadecimal digits.
void check_callable(std::string_view display_name, std::string_view hash);

/// Where a server listens for gRPC: HOST:PORT, or a target that gRPC has a scheme for, such as
/// unix:PATH; or several of them with commas between.
void check_server_address(std::string_view address);
/// Why a server is not reached, of gRPC's own text. No errors.
std::string unreached_reason(std::string_view text);

/// 32 bytes of 64 hexadecimal digits in lower case; empty for anything else. No errors.
std::string hash_bytes(std::string_view digits);

/// "20 ms"
std::string in_ms(std::chrono::milliseconds t);

}  // namespace muster
