// Checks of user input. The check functions throw std::invalid_argument. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

void check_function_name(std::string_view name);
void check_argument_bytes(std::size_t bytes);
/// Accepts an empty hash, or a display name and 64 hexadecimal digits.
void check_callable(std::string_view display_name, std::string_view hash);

/// Accepts HOST:PORT, a target with a gRPC scheme such as unix:PATH, or a comma-separated list.
void check_server_address(std::string_view address);
/// Extracts from gRPC's message the reason why a server is unreachable.
std::string unreached_reason(std::string_view text);

/// Converts 64 lower-case hexadecimal digits to 32 bytes. Returns an empty string for any other
/// input.
std::string hash_bytes(std::string_view digits);

std::string in_ms(std::chrono::milliseconds t);

}  // namespace muster
