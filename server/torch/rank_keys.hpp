// Which keys of torch's tell who somebody is: each rank of the default group writes one of its own
// before it asks for those of others. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::torch {

/// Ranks beyond it are no ranks: somebody has made such a key.
inline constexpr std::uint32_t ranks_max = 1'000'000;

/// The rank whose address this key has, or whose host's name: "…default_pg/0//cpu//0/3",
/// "…default_pg/0/0/rank_3".
std::optional<std::uint32_t> rank_of_key(std::string_view key);

/// A key that every client counts itself in with when it begins, which says nothing of what it
/// does.
inline constexpr std::string_view key_of_beginning = "init/";

}  // namespace muster::torch
