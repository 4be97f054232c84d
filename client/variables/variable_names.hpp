// What both languages call variables on the wire.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster::detail {

/// The class that workers have, and as what people see its objects.
inline constexpr std::string_view variable_function = "muster.variable";
inline constexpr std::string_view variable_class_name = "muster.Variable";
/// Of the one that has the name of a variable in shards, and where these begin: by it others find
/// them, and no other gets its name.
inline constexpr std::string_view sharded_class_name = "muster.ShardedVariable";

/// Bytes: pieces have whole rows, and those of a checkpoint the slots of momentum and Adam, too, in
/// one call.
inline constexpr std::uint64_t row_bytes_max = std::uint64_t{7} << 20;

}  // namespace muster::detail
