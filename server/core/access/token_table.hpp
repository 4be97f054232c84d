// The server's credentials, by id. The token_keeper owns the table and writes changes to the
// journal. Not thread-safe.
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
/// Replaces a token's secret. The old secret becomes invalid immediately.
struct rotate_token {
  std::string id;
  std::string salt, digest;
};

class token_table {
 public:
  /// At the limit, further tokens are refused with RESOURCE_EXHAUSTED.
  static constexpr std::size_t tokens_max = 10'000;
  static constexpr std::size_t id_bytes_max = 64;
  static constexpr std::size_t clusters_max = 64;

  // These functions apply an event. INVALID_ARGUMENT names the field; ALREADY_EXISTS and NOT_FOUND
  // refer to the id. FAILED_PRECONDITION means that the token comes from the token file, or is the
  // last admin token, without which no further token could be created.
  status step(create_token e, time_point now);
  status step(revoke_token const& e, time_point now);
  status step(rotate_token e);
  void restore(token t) {
    auto id = t.id;
    tokens_.insert_or_assign(std::move(id), std::make_shared<token const>(std::move(t)));
  }
  /// Replaces all tokens of the token file. Returns the ids whose old secret became invalid.
  std::vector<std::string> replace_file(std::vector<token> all);

  /// Returns null if the id is unknown.
  caller find(std::string_view id) const;
  std::map<std::string, caller, std::less<>> const& all() const { return tokens_; }
  /// Returns the earliest expiry after `now`, or `never`.
  time_point next_expiry(time_point now) const;
  bool has_admin(time_point now) const { return !last_admin({}, now); }

 private:
  /// Returns whether no token except `but` is a valid admin token.
  bool last_admin(std::string_view but, time_point now) const;

  std::map<std::string, caller, std::less<>> tokens_;
};

}  // namespace muster::core
