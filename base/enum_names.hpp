// Names of enumerators in a table, as they stand in texts, JSON and on the wire.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster {

/// Of an enumeration that counts from 0 to `last`: its name in the table, or "?" for no enumerator.
template <auto last, std::size_t n>
constexpr std::string_view named(std::string_view const (&names)[n], decltype(last) e) {
  static_assert(n == static_cast<std::size_t>(last) + 1, "each enumerator has a name");
  auto const at = static_cast<std::size_t>(e);
  return at < n ? names[at] : "?";
}

}  // namespace muster
