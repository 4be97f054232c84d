#include "base/half_open.hpp"

#include <algorithm>
#include <array>

namespace muster {

namespace {
std::uint64_t number_of(std::span<unsigned char const> bytes) {
  std::uint64_t n = 0;
  for (auto const byte : bytes) n = n << 8 | byte;
  return n;
}
}  // namespace

std::uint64_t peer_network(std::span<unsigned char const> address) {
  constexpr std::array<unsigned char, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255};
  constexpr std::uint64_t ipv4 = 0xffff'0000'0000;  // outside the range of IPv6 networks
  if (address.size() == 4) return ipv4 | number_of(address);
  if (std::equal(mapped.begin(), mapped.end(), address.begin()))
    return ipv4 | number_of(address.subspan(mapped.size()));
  return number_of(address.first(8));
}

}  // namespace muster
