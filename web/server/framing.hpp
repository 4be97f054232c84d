// Checks that all HTTP implementations agree where a request's body ends. Otherwise, a proxy could
// treat a client's bytes as another client's request (request smuggling).
#pragma once

#include <boost/beast/http/fields.hpp>
#include <optional>
#include <string_view>

#include "web/json/problem.hpp"

namespace muster::web {

/// Returns 400 if the end of the body is ambiguous (RFC 9112, 6.1 and 6.3), and 501 for a coding
/// other than `chunked`. In both cases, the connection must be closed. `in_chunks` means that the
/// parser treats the body as chunked.
std::optional<problem> check_framing(boost::beast::http::fields const& head, bool is_http_1_0,
                                     bool in_chunks);

/// Returns whether the key is 16 bytes in base64 (RFC 6455, 4.1).
bool is_websocket_key(std::string_view key);

}  // namespace muster::web
