// Keys that identify a rank in torch 1.13 to 2.15. Each rank of the default group writes its own
// key before it reads other ranks' keys. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::torch {

/// Numbers above this limit are not ranks.
inline constexpr std::uint32_t ranks_max = 1'000'000;

/// Returns the rank whose address or host name the key contains, such as "…default_pg/0//cpu//0/3"
/// or "…default_pg/0/0/rank_3". Any prefix is accepted.
std::optional<std::uint32_t> rank_of_key(std::string_view key);

/// Prefix of the key that every client increments when it starts.
inline constexpr std::string_view key_of_beginning = "init/";

}  // namespace muster::torch
