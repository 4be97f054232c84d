#include "web/rest/sign_ins.hpp"

#include <algorithm>
#include <utility>

#include "server/disk/sha256.hpp"
#include "server/hub/access/gate.hpp"
#include "server/hub/access/token_text.hpp"
#include "web/http/http.hpp"
#include "web/http/web_options.hpp"

namespace muster::web {
namespace {

constexpr std::size_t port_digits_max = 5;

std::string digest_of(std::string_view identifier) {
  server::sha256 hash;
  hash.add(identifier);
  return hash.digest();
}

std::string_view cookie_of(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    auto const end = std::min(header.find(';'), header.size());
    auto one = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
      return one.substr(name.size() + 1);
  }
  return {};
}

std::string_view port_of(std::string_view host) {
  auto const colon = host.rfind(':');
  if (colon == std::string_view::npos) return {};
  auto const port = host.substr(colon + 1);
  bool const digits = port.find_first_not_of("0123456789") == std::string_view::npos;
  return digits && port.size() <= port_digits_max ? port : std::string_view();
}

}  // namespace

void sign_in_table::make_room(std::string_view token, clock::time_point now) {
  std::erase_if(all_, [now](auto const& entry) { return now - entry.second.made >= lifetime; });
  auto const forget_oldest = [this](auto const& counts, std::size_t max) {
    std::size_t n = 0;
    auto oldest = all_.end();
    for (auto it = all_.begin(); it != all_.end(); ++it) {
      if (!counts(it->second)) continue;
      ++n;
      if (oldest == all_.end() || it->second.used < oldest->second.used) oldest = it;
    }
    if (n >= max) all_.erase(oldest);
  };
  forget_oldest([token](sign_in const& s) { return s.who->id == token; }, of_one_token_max);
  forget_oldest([](sign_in const&) { return true; }, sign_ins_max);
}

std::string sign_in_table::add(core::caller who, clock::time_point now) {
  make_room(who->id, now);
  auto identifier = server::random_secret();
  all_.insert_or_assign(digest_of(identifier), sign_in{std::move(who), now, ++uses_});
  return identifier;
}

core::caller sign_in_table::find(std::string_view identifier, server::gate const& gate,
                                 clock::time_point now) {
  if (identifier.empty() || identifier.size() > server::credential_bytes_max) return nullptr;
  auto const it = all_.find(digest_of(identifier));
  if (it == all_.end()) return nullptr;
  auto current = now - it->second.made < lifetime ? gate.current(*it->second.who) : nullptr;
  if (!current) {
    all_.erase(it);
    return nullptr;
  }
  it->second.used = ++uses_;
  return current;
}

void sign_in_table::remove(std::string_view identifier) {
  if (!identifier.empty()) all_.erase(digest_of(identifier));
}

std::string sign_in_cookie_name(web_options const& options, request const& req) {
  auto port = port_of(req.host);
  if (port.empty()) port = options.tls.secure_cookies ? "443" : "80";
  auto base = options.base_path;
  std::replace(base.begin(), base.end(), '/', '_');
  return (options.tls.secure_cookies ? "__Host-muster_session_" : "muster_session_") +
         std::string(port) + base;
}

std::string_view sign_in_of(web_options const& options, request const& req) {
  return cookie_of(req.cookie, sign_in_cookie_name(options, req));
}

bool has_token_cookie(request const& req) {
  return !cookie_of(req.cookie, old_token_cookie).empty();
}

std::string set_cookie(web_options const& options, std::string_view name, std::string_view value,
                       std::chrono::seconds lifetime) {
  return std::string(name) + "=" + std::string(value) + "; Path=/; HttpOnly; SameSite=Strict" +
         (options.tls.secure_cookies ? "; Secure" : "") +
         "; Max-Age=" + std::to_string(lifetime.count());
}

}  // namespace muster::web
