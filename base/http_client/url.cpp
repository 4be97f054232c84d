// Uses its own parser, because Boost.URL does not report what is wrong.
#include "base/http_client/url.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace muster {

muster::result<http_target> parse_http_url(std::string_view url) {
  auto const wrong = [&](std::string const& why) {
    return muster::status{muster::code::invalid_argument, "'" + std::string(url) + "': " + why};
  };
  http_target t;
  t.tls = url.starts_with("https://");
  if (!t.tls && !url.starts_with("http://"))
    return wrong("expected http://HOST:PORT or https://HOST:PORT");
  if (t.tls) t.port = "443";
  auto rest = url.substr(url.find("//") + 2);
  auto const slash = std::min(rest.find_first_of("/?"), rest.size());
  auto authority = rest.substr(0, slash);
  if (slash < rest.size()) t.path = rest.substr(slash);
  if (t.path.starts_with('?')) t.path = "/" + t.path;
  if (url.find_first_of(" \r\n\t") != std::string::npos) return wrong("contains spaces");
  if (authority.starts_with('[')) {
    auto const end = authority.find(']');
    if (end == std::string_view::npos) return wrong("']' is missing");
    t.host = authority.substr(1, end - 1);
    authority.remove_prefix(end + 1);
  } else {
    auto const colon = std::min(authority.find(':'), authority.size());
    t.host = authority.substr(0, colon);
    authority.remove_prefix(colon);
  }
  if (!authority.empty()) {
    if (!authority.starts_with(':')) return wrong("expected ':' after ']'");
    auto const port = parse_number(authority.substr(1));
    if (!port || *port == 0 || *port > 65535)
      return wrong("the port must be a number from 1 to 65535");
    t.port = std::to_string(*port);
  }
  if (t.host.empty()) return wrong("the host is missing");
  return t;
}

}  // namespace muster
