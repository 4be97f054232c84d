// A session's id as text, as REST shows it.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "server/core/api/ids.hpp"

namespace muster::server {

inline std::string text(core::session_id id) {
  return fmt::format("job_{:016x}", core::raw(id));
}

/// Nothing unless it is "job_" and 16 hexadecimal digits.
inline std::optional<core::session_id> parse_session(std::string_view text) {
  if (text.size() != 20 || !text.starts_with("job_")) return std::nullopt;
  std::uint64_t id = 0;
  auto const [end, error] = std::from_chars(text.data() + 4, text.data() + 20, id, 16);
  if (error != std::errc() || end != text.data() + 20 || id == 0) return std::nullopt;
  return core::session_id{id};
}

}  // namespace muster::server
