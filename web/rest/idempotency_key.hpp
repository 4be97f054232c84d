// The idempotency key of a request, from its body or the header `Idempotency-Key`. Its digest
// distinguishes a repeated request from a different one. Web thread.
#pragma once

#include <optional>
#include <string>

#include "web/http/http.hpp"
#include "web/json/json_in.hpp"

namespace muster::web {

/// Copies the key of the header to `key`, which contains the key of the body or is empty. For a
/// quoted key, takes the text between the quotes. Returns 422 if header and body differ, and 400 or
/// 422 if the header's key has more than core::idempotency_key_bytes_max bytes.
std::optional<problem> take_idempotency_key(request const& req, std::string& key);

/// Returns the SHA-256 of a JSON object without its member `idempotency_key`, as 32 bytes. White
/// space, the order of members and the spelling of strings make no difference; the spelling of
/// numbers does.
std::string request_digest(json_ref const& body);

}  // namespace muster::web
