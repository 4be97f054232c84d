// Serializes HTTP/1.1 responses. Hand-written, because a general serializer costs twice as much.
#pragma once

#include <optional>
#include <string>

#include "web/http/http.hpp"

namespace muster::web {

/// Returns the status line and the headers, including the final empty line. Without `length`, omits
/// Content-Length.
std::string head_text(response const& r, std::optional<std::size_t> length, bool keep_alive);
std::string chunk_text(std::string_view piece);

}  // namespace muster::web
