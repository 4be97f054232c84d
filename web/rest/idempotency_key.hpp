// The idempotency key of a request, from its body or the header `Idempotency-Key`. A digest
// distinguishes a repeated request from a different request.
#pragma once

#include <optional>
#include <string>

#include "web/http/http.hpp"
#include "web/json/json_in.hpp"

namespace muster::web {

/// Copies the key in the header, without surrounding quotes, to `key`. Before the call, `key`
/// contains the key in the body or is empty. Returns 422 if header and body differ, and 400 or 422
/// if the key exceeds core::idempotency_key_bytes_max bytes.
std::optional<problem> take_idempotency_key(request const& req, std::string& key);

/// Returns the SHA-256 of a JSON object without its member `idempotency_key`. White space, member
/// order and the spelling of strings do not affect it, but the spelling of numbers does.
std::string request_digest(json_ref const& body);

}  // namespace muster::web
