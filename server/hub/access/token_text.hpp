// Credentials: "muster.ID.SECRET", with a secret of 256 random bits. The server stores only a
// salted digest. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "server/core/access/token.hpp"

namespace muster::server {

/// Maximum size. Longer credentials are rejected without parsing.
inline constexpr std::size_t credential_bytes_max = 512;
/// Minimum size of credentials in a --token-file.
inline constexpr std::size_t credential_bytes_min = 32;

/// Returns the name, or the role if the name is empty, followed by six random digits.
std::string new_token_id(std::string_view name, core::role r);
/// Returns 256 random bits in base64url: 43 characters.
/// @throws std::runtime_error if the system provides no random numbers.
std::string random_secret();
/// @throws std::runtime_error if the system provides no random numbers.
std::string new_credential(std::string_view id);

/// Returns the ID in a generated credential. For other text, returns "file-" and eight digits of
/// its digest.
std::string id_of(std::string_view credential);
std::string new_salt();
void seal(core::token& t, std::string_view credential, std::string salt = new_salt());
/// Returns whether the credential is the token's. Compares in constant time.
bool fits(core::token const& t, std::string_view credential);

/// Returns the text after "Bearer " (in any case), or an empty string.
std::string_view bearer_of(std::string_view authorization);

}  // namespace muster::server
