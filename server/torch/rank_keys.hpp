// The keys of torch that identify a rank: each rank of the default group writes its own key before
// it reads those of others. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::torch {

/// Numbers beyond it are not ranks.
inline constexpr std::uint32_t ranks_max = 1'000'000;

/// Returns the rank whose address or host name this key contains: "…default_pg/0//cpu//0/3",
/// "…default_pg/0/0/rank_3".
std::optional<std::uint32_t> rank_of_key(std::string_view key);

/// A key that every client increments at its start, whatever it does later.
inline constexpr std::string_view key_of_beginning = "init/";

}  // namespace muster::torch
