// Remembers which browsers have signed in. A browser keeps a random identifier in a cookie; the
// server keeps the identifier's digest and the token that belongs to it. Web thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "server/core/access/token.hpp"

namespace muster::server {
class gate;
}

namespace muster::web {

struct request;
struct web_options;

class sign_in_table {
 public:
  using clock = std::chrono::steady_clock;
  /// Limits of all sign-ins and of the sign-ins of one token. At a limit, a new sign-in replaces
  /// the least recently used sign-in of all or of the same token.
  static constexpr std::size_t sign_ins_max = 4'096, of_one_token_max = 64;
  /// A sign-in ends this long after it was made.
  static constexpr std::chrono::hours lifetime{30 * 24};

  /// Adds a sign-in with this token.
  /// @return the identifier for the cookie: 43 characters.
  std::string add(core::caller who, clock::time_point now);
  /// Finds the token of a sign-in; counts as a use of the sign-in.
  /// @return the token in its current state; null if the identifier is unknown, if the sign-in has
  ///   expired, or if its token is no longer valid. A token becomes invalid when it is revoked or
  ///   rotated, or when it expires.
  core::caller find(std::string_view identifier, server::gate const& gate, clock::time_point now);
  void remove(std::string_view identifier);
  [[nodiscard]] std::size_t size() const { return all_.size(); }

 private:
  struct sign_in {
    core::caller who;
    clock::time_point made;
    std::uint64_t used = 0;  // larger: more recently
  };
  void make_room(std::string_view token, clock::time_point now);

  std::map<std::string, sign_in, std::less<>> all_;  // by the identifier's digest
  std::uint64_t uses_ = 0;
};

/// Returns the name of the sign-in cookie. Browsers send a cookie to all ports of a host. The name
/// therefore contains the port of the address that the browser uses, so that servers on one host do
/// not replace each other's cookie. Over TLS, the prefix `__Host-` prevents other hosts and
/// plaintext pages from setting it.
std::string sign_in_cookie_name(web_options const& options, request const& req);
/// Returns the identifier in the request's sign-in cookie; empty if there is none.
std::string_view sign_in_of(web_options const& options, request const& req);
/// Returns whether the request has the cookie of versions that kept the token itself in it.
bool has_token_cookie(request const& req);

/// Returns a `Set-Cookie` header with these attributes; `seconds` 0 deletes the cookie.
std::string set_cookie(web_options const& options, std::string_view name, std::string_view value,
                       std::chrono::seconds lifetime);
inline constexpr std::string_view old_token_cookie = "muster_token";

}  // namespace muster::web
