// HTTP/1.1 answers as bytes. Written by hand: it is half the cost of a general serializer, and an
// answer is nothing but lines. Pure, but for the clock behind `Date`.
#pragma once

#include <optional>
#include <string>

#include "web/http/http.hpp"

namespace muster::web {

/// Status line and headers with the empty line. `length`: of the content; none is told without.
std::string head_text(response const& r, std::optional<std::size_t> length, bool keep_alive);
/// One chunk of a chunked body.
std::string chunk_text(std::string_view piece);

}  // namespace muster::web
