// The credentials of the server, by id. Three events change it; each returns a status. The owner
// writes changes to the journal. Owned by the token_keeper; one thread.
#pragma once

#include <map>
#include <string>

#include "base/status.hpp"
#include "server/core/access/token.hpp"

namespace muster::core {

struct create_token {
  core::token token;
};
struct revoke_token {
  std::string id;
};
/// Replaces the secret of an id. The old secret becomes invalid at once.
struct rotate_token {
  std::string id;
  std::string salt, digest;
};

class token_table {
 public:
  /// At the limit, further tokens are refused: RESOURCE_EXHAUSTED.
  static constexpr std::size_t tokens_max = 10'000;
  static constexpr std::size_t id_bytes_max = 64;
  static constexpr std::size_t clusters_max = 64;

  // Apply an event. INVALID_ARGUMENT names the field; ALREADY_EXISTS and NOT_FOUND concern the id.
  // FAILED_PRECONDITION: the token comes from the token file, or is the last admin's, without which
  // no further token could be created.
  status step(create_token e, time_point now);
  status step(revoke_token const& e, time_point now);
  status step(rotate_token e);
  /// Adds a token that an earlier process has stored.
  void restore(token t) {
    auto id = t.id;
    tokens_.insert_or_assign(std::move(id), std::make_shared<token const>(std::move(t)));
  }
  /// Replaces all tokens of the token file. Returns the ids whose old secret became invalid.
  std::vector<std::string> replace_file(std::vector<token> all);

  /// Returns null if there is no such token.
  caller find(std::string_view id) const;
  std::map<std::string, caller, std::less<>> const& all() const { return tokens_; }
  /// Returns the earliest expiry after `now`, or `never`.
  time_point next_expiry(time_point now) const;
  bool has_admin(time_point now) const { return !last_admin({}, now); }

 private:
  /// Returns whether there is no valid admin token except `but`.
  bool last_admin(std::string_view but, time_point now) const;

  std::map<std::string, caller, std::less<>> tokens_;
};

}  // namespace muster::core
