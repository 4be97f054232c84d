// What is known of a credential: never the secret itself. Pure data, shared read-only by threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/core/access/role.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

struct token {
  std::string id;  // readable: "ci-7f3a9c"; part of the credential, not secret
  core::role role = core::role::viewer;
  std::vector<std::string> clusters{};  // empty: all
  time_point expires = never;
  bool allow_exec = false;
  std::string salt{}, digest{};  // SHA-256 of salt and secret
  time_point created{};
  std::string created_by{};  // id of a token; empty: on the command line
  // What whoever holds it may have at one time; 0: what the server allows anybody.
  std::uint64_t queued_max = 0;  // closures that wait
  std::uint64_t sessions_max = 0;
  std::uint64_t value_bytes_max = 0;
  // Not of the store: a line of a file, which only the file changes.
  bool from_file = false;

  bool bound_to(std::string_view cluster) const {
    for (auto const& c : clusters)
      if (c == cluster) return true;
    return clusters.empty();
  }
  bool operator==(token const&) const = default;
};

/// Null: nobody is asked who they are, and everybody may do everything.
using caller = std::shared_ptr<token const>;

/// What is written down: the token as it is now, or that it is gone.
struct token_fact {
  std::string id;
  caller now;  // null: it was revoked
};

inline bool may(caller const& who, permission p) {
  return !who || allows(who->role, p);
}
/// Of what `owner` submitted (the id of its token; empty: nobody was asked then): whether the
/// caller may end or change it.
inline bool may_change(caller const& who, std::string_view owner) {
  return !who || who->role == role::admin ||
         (allows(who->role, permission::submit) && (owner.empty() || who->id == owner));
}

}  // namespace muster::core
