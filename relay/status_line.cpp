// HTTP/1.x, a space, three digits.
#include "relay/status_line.hpp"

#include "base/text.hpp"

namespace muster::relay {

std::optional<unsigned> status_of_line(std::string_view line) {
  constexpr std::string_view version = "HTTP/1.";
  if (!line.starts_with(version) || line.size() < version.size() + 5) return {};
  auto const rest = line.substr(version.size() + 1);
  auto const behind = rest.substr(4, 1);
  if (rest[0] != ' ' || (!behind.empty() && behind != " " && behind != "\r")) return {};
  auto const status = parse_number(rest.substr(1, 3));
  if (!status || *status < 100) return {};
  return static_cast<unsigned>(*status);
}

}  // namespace muster::relay
