// The public part of a credential; the secret is never stored. Objects are immutable, so threads
// can share them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/core/access/role.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

struct token {
  std::string id;  // readable id, such as "ci-7f3a9c"; part of the credential, but not secret
  core::role role = core::role::viewer;
  std::vector<std::string> clusters{};  // accessible clusters; all clusters if empty
  time_point expires = never;
  bool allow_exec = false;
  std::string salt{}, digest{};  // SHA-256 of salt and secret
  time_point created{};
  std::string created_by{};  // token id; empty if created on the command line
  // Limits for concurrent use by the token's holder. If 0, the server's general limit applies.
  std::uint64_t queued_max = 0;  // waiting closures
  std::uint64_t sessions_max = 0;
  std::uint64_t value_bytes_max = 0;
  // Read from the token file, not from the store. Only an edit of the file changes the token.
  bool from_file = false;

  bool bound_to(std::string_view cluster) const {
    for (auto const& c : clusters)
      if (c == cluster) return true;
    return clusters.empty();
  }
  bool operator==(token const&) const = default;
};

/// The authenticated caller. Null if authentication is off, in which case every caller may do
/// everything.
using caller = std::shared_ptr<token const>;

/// A token's new state, or its revocation.
struct token_change {
  std::string id;
  caller now;  // null if the token was revoked
};

inline bool may(caller const& who, permission p) {
  return !who || allows(who->role, p);
}
/// Returns whether the caller may change a submission. `owner` is the id of the submitter's token;
/// empty if authentication was off.
inline bool can_change(caller const& who, std::string_view owner) {
  return !who || who->role == role::admin ||
         (allows(who->role, permission::submit) && (owner.empty() || who->id == owner));
}

}  // namespace muster::core
