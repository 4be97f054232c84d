// Failures on the wire and in the core.
#pragma once

#include <string>

#include "muster/v1/common.pb.h"
#include "server/core/api/model.hpp"

namespace muster::server {

/// What of a worker's failure is kept; longer texts are cut and marked with "…".
inline constexpr std::size_t failure_type_bytes_max = 256;
inline constexpr std::size_t failure_message_bytes_max = 16 << 10;
inline constexpr std::size_t failure_dependencies_max = 64;
inline constexpr std::size_t failure_dependency_bytes_max = 128;
inline constexpr std::size_t failure_traceback_bytes_max = 64 << 10;
/// A longer one is left out: half of an exception is none.
inline constexpr std::size_t failure_exception_bytes_max = 64 << 10;

/// Fills everything but the position.
void to_wire(core::failure const& from, v1::Failure& to);

/// Takes a worker's failure. Empty, or what is wrong with its kind.
std::string from_wire(v1::Failure const& from, core::failure& to);

}  // namespace muster::server
