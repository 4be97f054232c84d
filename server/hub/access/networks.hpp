// IP networks, parsed from texts such as "10.0.0.0/8" or "fd00::/8". Pure, thread-safe functions.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace muster::server {

struct network {
  std::array<unsigned char, 16> address{};  // IPv4 as ::ffff:a.b.c.d
  unsigned bits = 128;

  bool contains(std::string_view text) const;
};

/// Parses one network. Returns INVALID_ARGUMENT with a one-line message if it is malformed.
muster::result<network> parse_network(std::string_view text);
constexpr std::size_t networks_max = 64;
/// Fails with INVALID_ARGUMENT if a network is malformed or there are more than `networks_max`
/// networks.
muster::result<std::vector<network>> parse_networks(std::vector<std::string> const& texts);
bool any_contains(std::vector<network> const& all, std::string_view address);

}  // namespace muster::server
