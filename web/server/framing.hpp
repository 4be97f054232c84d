// Where a request's body ends has to be said in the one way that every reader understands alike: a
// proxy in front that sees another end would take a client's bytes for another client's request.
// Stateless.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <optional>
#include <string_view>

#include "web/json/problem.hpp"

namespace muster::web {

/// 400: the end of the body is not certain (RFC 9112, 6.1 and 6.3); 501: a coding beside `chunked`.
/// After either the connection is of no use any more.
/// `in_chunks`: the parser takes the body for chunked.
std::optional<problem> check_framing(boost::beast::http::fields const& head, bool is_http_1_0,
                                     bool in_chunks);

/// Sixteen bytes in base64, as a WebSocket client says in its handshake (RFC 6455, 4.1).
bool is_websocket_key(std::string_view key);

}  // namespace muster::web
