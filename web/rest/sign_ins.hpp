// The browsers that have signed in. A browser stores a random identifier in a cookie; the server
// stores the identifier's digest and the associated token. Used on the web thread.
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
  /// Limits for all sign-ins and for the sign-ins of one token. At a limit, a new sign-in replaces
  /// the least recently used sign-in.
  static constexpr std::size_t sign_ins_max = 4'096, of_one_token_max = 64;
  static constexpr std::chrono::hours lifetime{30 * 24};

  /// @return the cookie's identifier: 43 characters.
  std::string add(core::caller who, clock::time_point now);
  /// Records the use of the sign-in.
  /// @return the token in its current state; null if the identifier is unknown, the sign-in has
  /// expired, or the token has been revoked or rotated or has expired.
  core::caller find(std::string_view identifier, server::gate const& gate, clock::time_point now);
  void remove(std::string_view identifier);
  [[nodiscard]] std::size_t size() const { return all_.size(); }

 private:
  struct sign_in {
    core::caller who;
    clock::time_point made;
    std::uint64_t used = 0;  // a larger number means more recent use
  };
  void make_room(std::string_view token, clock::time_point now);

  std::map<std::string, sign_in, std::less<>> all_;  // keys are digests of identifiers
  std::uint64_t uses_ = 0;
};

/// Browsers send a cookie to all ports of a host. The name therefore contains the port that the
/// browser uses, and the base path, so that servers on one host do not overwrite each other's
/// cookies. With TLS, the prefix `__Host-` prevents other hosts and plaintext pages from setting
/// the cookie.
std::string sign_in_cookie_name(web_options const& options, request const& req);
std::string_view sign_in_of(web_options const& options, request const& req);
/// Older versions stored the token itself in a cookie.
bool has_token_cookie(request const& req);

/// If `seconds` is 0, the header deletes the cookie.
std::string set_cookie(web_options const& options, std::string_view name, std::string_view value,
                       std::chrono::seconds lifetime);
inline constexpr std::string_view old_token_cookie = "muster_token";

}  // namespace muster::web
