// A credential as people and programs carry it: "muster.ID.SECRET", where the secret is 256 random
// bits. What a server keeps of it is a salted digest. Pure but for the randomness; any thread.
#pragma once

#include <string>
#include <string_view>

#include "server/core/access/token.hpp"

namespace muster::server {

/// Longer ones are refused unread.
inline constexpr std::size_t credential_bytes_max = 512;
/// Of a text that somebody else made up, in a --token-file.
inline constexpr std::size_t credential_bytes_min = 32;

/// An id for a new token: its name, or that of its role, and six random digits.
std::string new_token_id(std::string_view name, core::role r);
/// Returns 256 random bits as 43 characters of base64url.
/// @throws std::runtime_error if the system gives no random bytes.
std::string random_secret();
/// Returns "muster.ID." and a random secret.
/// @throws std::runtime_error if the system gives no random bytes.
std::string new_credential(std::string_view id);

/// Whose credential this says it is: the ID of one of ours, "file-" and eight digits of its own
/// digest for any other text.
std::string id_of(std::string_view credential);
std::string new_salt();
/// Sets salt and digest.
void seal(core::token& t, std::string_view credential, std::string salt = new_salt());
/// In a time that does not depend on where they differ.
bool fits(core::token const& t, std::string_view credential);

/// What stands behind "Bearer " (in any case), or empty.
std::string_view bearer_of(std::string_view authorization);

}  // namespace muster::server
