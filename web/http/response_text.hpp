// HTTP/1.1 responses as bytes. Written by hand, since that costs half as much as a general
// serializer. Pure, except for the clock that `Date` needs.
#pragma once

#include <optional>
#include <string>

#include "web/http/http.hpp"

namespace muster::web {

/// Returns the status line and headers, up to the empty line. Without `length`, omits
/// Content-Length.
std::string head_text(response const& r, std::optional<std::size_t> length, bool keep_alive);
std::string chunk_text(std::string_view piece);

}  // namespace muster::web
