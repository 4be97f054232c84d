// Credentials: "muster.ID.SECRET", where the secret has 256 random bits. The server stores only a
// salted digest. Pure except for the random numbers; any thread.
#pragma once

#include <string>
#include <string_view>

#include "server/core/access/token.hpp"

namespace muster::server {

/// Longer credentials are rejected unread.
inline constexpr std::size_t credential_bytes_max = 512;
/// Minimum length of a credential from a --token-file.
inline constexpr std::size_t credential_bytes_min = 32;

/// Returns an id for a new token: its name, or else its role, and six random digits.
std::string new_token_id(std::string_view name, core::role r);
/// Returns 256 random bits as 43 characters of base64url.
/// @throws std::runtime_error if the system gives no random bytes.
std::string random_secret();
/// Returns "muster.ID." and a random secret.
/// @throws std::runtime_error if the system gives no random bytes.
std::string new_credential(std::string_view id);

/// Returns the id that a credential belongs to: the ID of a generated credential; for other text,
/// "file-" and eight digits of its digest.
std::string id_of(std::string_view credential);
std::string new_salt();
void seal(core::token& t, std::string_view credential, std::string salt = new_salt());
/// Compares in constant time.
bool fits(core::token const& t, std::string_view credential);

/// Returns the text after "Bearer " (in any case), or an empty string.
std::string_view bearer_of(std::string_view authorization);

}  // namespace muster::server
