#include "server/torch/rank_keys.hpp"

#include <charconv>

namespace muster::torch {

std::optional<std::uint32_t> rank_of_key(std::string_view key) {
  constexpr std::string_view group = "default_pg/0/";
  auto const at = key.rfind(group);
  if (at == std::string_view::npos || (at > 0 && key[at - 1] != '/')) return std::nullopt;
  key.remove_prefix(at + group.size());
  if (key.starts_with("/cpu//")) key.remove_prefix(6);
  if (!key.starts_with("0/")) return std::nullopt;
  key.remove_prefix(2);
  if (key.starts_with("rank_")) key.remove_prefix(5);
  std::uint32_t rank = 0;
  auto const* end = key.data() + key.size();
  auto const [read, error] = std::from_chars(key.data(), end, rank);
  if (error != std::errc{} || read != end || rank >= ranks_max) return std::nullopt;
  return rank;
}

}  // namespace muster::torch
