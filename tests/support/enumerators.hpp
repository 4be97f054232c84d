// Counts enumerators, so that tests can check that a list is complete.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

namespace muster::test {

template <auto value>
constexpr bool is_enumerator() {
  // "… value = muster::code::ok]", or "… value = (muster::code)15]" if it has no name.
  constexpr std::string_view name = __PRETTY_FUNCTION__;
  return name.substr(name.rfind("value = ") + 8).front() != '(';
}

template <class Enum>
constexpr std::size_t enumerators() {
  return []<std::size_t... n>(std::index_sequence<n...>) {
    return (std::size_t{is_enumerator<static_cast<Enum>(n)>()} + ...);
  }
  (std::make_index_sequence<64>());
}

}  // namespace muster::test
