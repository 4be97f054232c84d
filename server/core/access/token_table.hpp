// The credentials that the server knows, by id. Every change is one of three events, whose answer
// is a status; what changed is written down by the owner. Owned by the token_keeper; one thread.
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
/// Another secret for the same id; the old one is worth nothing from then on.
struct rotate_token {
  std::string id;
  std::string salt, digest;
};

class token_table {
 public:
  /// More are refused: RESOURCE_EXHAUSTED. Those that expired give way first.
  static constexpr std::size_t tokens_max = 10'000;
  static constexpr std::size_t id_bytes_max = 64;
  static constexpr std::size_t clusters_max = 64;

  // INVALID_ARGUMENT names the field. ALREADY_EXISTS, NOT_FOUND; FAILED_PRECONDITION: it is a line
  // of a file, or the last admin's, without whom nobody could make another.
  status step(create_token e, time_point now);
  status step(revoke_token const& e, time_point now);
  status step(rotate_token e);
  /// One of an earlier process.
  void restore(token t) {
    auto id = t.id;
    tokens_.insert_or_assign(std::move(id), std::make_shared<token const>(std::move(t)));
  }
  /// Those of the file are these, from now on. Gives the ids whose old secret is worth nothing now.
  std::vector<std::string> replace_file(std::vector<token> all);

  /// Null: there is none.
  caller find(std::string_view id) const;
  std::map<std::string, caller, std::less<>> const& all() const { return tokens_; }
  /// The earliest that is still to come; never: none expires.
  time_point next_expiry(time_point now) const;
  bool has_admin(time_point now) const { return !last_admin({}, now); }

 private:
  /// Nobody but `but` is an admin.
  bool last_admin(std::string_view but, time_point now) const;

  std::map<std::string, caller, std::less<>> tokens_;
};

}  // namespace muster::core
