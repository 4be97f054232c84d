#include "server/hub/access/networks.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/text.hpp"

namespace muster::server {
namespace {

using bytes = std::array<unsigned char, 16>;

std::optional<bytes> parse_address(std::string_view text, bool* v4 = nullptr) {
  std::string const name(text);
  bytes all{};
  in_addr four{};
  if (inet_pton(AF_INET, name.c_str(), &four) == 1) {
    if (v4) *v4 = true;
    all[10] = all[11] = 0xFF;
    std::memcpy(all.data() + 12, &four, 4);
    return all;
  }
  if (inet_pton(AF_INET6, name.c_str(), all.data()) == 1) return all;
  return {};
}

}  // namespace

bool network::contains(std::string_view text) const {
  auto const other = parse_address(text);
  if (!other) return false;
  auto const whole = bits / 8;
  if (!std::equal(address.begin(), address.begin() + whole, other->begin())) return false;
  auto const rest = bits % 8;
  if (rest == 0) return true;
  auto const mask = static_cast<unsigned char>(0xFF << (8 - rest));
  return (address[whole] & mask) == ((*other)[whole] & mask);
}

muster::result<network> parse_network(std::string_view text) {
  auto const wrong = [&] {
    return muster::status{
        code::invalid_argument,
        "'" + std::string(text) +
            "' is not a network; use, for example, 10.0.0.0/8, 192.168.1.7 or fd00::/8"};
  };
  auto const slash = std::min(text.find('/'), text.size());
  bool v4 = false;
  auto const address = parse_address(text.substr(0, slash), &v4);
  if (!address) return wrong();
  network n{*address, 128};
  if (slash == text.size()) return n;
  auto const bits = parse_number(text.substr(slash + 1));
  if (!bits || *bits > (v4 ? 32u : 128u)) return wrong();
  n.bits = static_cast<unsigned>(*bits) + (v4 ? 96 : 0);
  return n;
}

muster::result<std::vector<network>> parse_networks(std::vector<std::string> const& texts) {
  if (texts.size() > networks_max)
    return muster::status{
        code::invalid_argument,
        std::to_string(texts.size()) + " networks, the limit is " + std::to_string(networks_max)};
  std::vector<network> all;
  for (auto const& text : texts) {
    auto n = parse_network(text);
    if (!n) return n.error();
    all.push_back(*n);
  }
  return all;
}

bool any_contains(std::vector<network> const& all, std::string_view address) {
  return std::any_of(all.begin(), all.end(), [&](network const& n) { return n.contains(address); });
}

}  // namespace muster::server
