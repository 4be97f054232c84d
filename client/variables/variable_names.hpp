// Variable-related names on the wire, common to both languages.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster::detail {

/// The function name and the displayed class name of variables.
inline constexpr std::string_view variable_function = "muster.variable";
inline constexpr std::string_view variable_class_name = "muster.Variable";
/// Class of the object that reserves a sharded variable's name, and through which other programs
/// find the shards.
inline constexpr std::string_view sharded_class_name = "muster.ShardedVariable";

/// Maximum bytes of a row. Pieces consist of whole rows; a checkpoint piece also contains the slots
/// of momentum and Adam.
inline constexpr std::uint64_t row_bytes_max = std::uint64_t{7} << 20;

}  // namespace muster::detail
