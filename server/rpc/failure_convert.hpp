// Converts failures between the protocol and the core.
#pragma once

#include <string>

#include "muster/v1/common.pb.h"
#include "server/core/api/model.hpp"

namespace muster::server {

/// Limits for a worker's failure. Longer strings are truncated and marked with "…".
inline constexpr std::size_t failure_type_bytes_max = 256;
inline constexpr std::size_t failure_message_bytes_max = 16 << 10;
inline constexpr std::size_t failure_dependencies_max = 64;
inline constexpr std::size_t failure_dependency_bytes_max = 128;
inline constexpr std::size_t failure_traceback_bytes_max = 64 << 10;
/// A longer exception is dropped, because a part of it is useless.
inline constexpr std::size_t failure_exception_bytes_max = 64 << 10;

/// Sets all fields except the position.
void to_wire(core::failure const& from, v1::Failure& to);

/// Converts a worker's failure. Returns an error message if its kind is invalid, otherwise an empty
/// string.
std::string from_wire(v1::Failure const& from, core::failure& to);

}  // namespace muster::server
