// Names of variables on the wire, common to both languages.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster::detail {

/// The function that workers provide, and the class name that is displayed.
inline constexpr std::string_view variable_function = "muster.variable";
inline constexpr std::string_view variable_class_name = "muster.Variable";
/// Class of the object that has the name of a sharded variable and the bounds of its shards. Other
/// programs find the shards through it, and no other object can get the name.
inline constexpr std::string_view sharded_class_name = "muster.ShardedVariable";

/// Maximum bytes of a row. Pieces consist of whole rows. Pieces of a checkpoint also contain the
/// slots of momentum and Adam, in one call.
inline constexpr std::uint64_t row_bytes_max = std::uint64_t{7} << 20;

}  // namespace muster::detail
