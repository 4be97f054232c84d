// Enumerations whose numbers and names are declared once, next to the enumerators:
//
//   enum class color : std::uint8_t { red = 0, dark_blue = 1 };
//   constexpr auto enum_names(color) {
//     return enumerators<color>(color::red, "RED", color::dark_blue, "DARK_BLUE");
//   }
//
// The journal stores the numbers, so the meaning of each number must never change. A namespace with
// such enumerations has `using muster::name;`, so that other namespaces can call name(e).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace muster {

template <class E>
struct enumerator {
  E value;
  std::string_view name;
};

// GCC and Clang print "(E)7" for a number without an enumerator.
template <class E, E value>
constexpr bool is_enumerator() {
  std::string_view const here = __PRETTY_FUNCTION__;
  return here[here.find("value = ") + 8] != '(';
}

template <class E>
struct enumerator_argument {
  consteval enumerator_argument(E e) : value(e) {}
  consteval enumerator_argument(char const* n) : name(n) {}

  E value{};
  char const* name = nullptr;
};

/// Builds the table of names. Does not compile if an enumerator is missing.
/// @param rows each enumerator, followed by its name; the numbers start at 0 without gaps
template <class E, class... Rows>
consteval auto enumerators(Rows... rows) {
  constexpr auto n = sizeof...(rows) / 2;
  static_assert(sizeof...(rows) % 2 == 0, "an enumerator or a name is missing");
  static_assert(!is_enumerator<E, static_cast<E>(n)>(), "an enumerator has no name");
  // Uses an array, because tuples for all enumerations took a tenth of the build time.
  enumerator_argument<E> const all[] = {rows...};
  std::array<enumerator<E>, n> table{};
  for (std::size_t i = 0; i < n; ++i) {
    if (all[2 * i].name || all[2 * i].value != static_cast<E>(i))
      throw "the enumerators are not in numerical order";
    table[i] = {all[2 * i].value, all[2 * i + 1].name};
  }
  return table;
}

template <class E>
concept named_enum = requires(E e) {
  enum_names(e);
};

template <named_enum E>
inline constexpr auto names_of_enum = enum_names(E{});

template <named_enum E>
inline constexpr std::size_t enum_size = names_of_enum<E>.size();

template <named_enum E>
constexpr std::string_view name(E e) {
  auto const at = static_cast<std::size_t>(e);
  return at < enum_size<E> ? names_of_enum<E>[at].name : "?";
}

template <named_enum E>
constexpr std::optional<E> enumerator_numbered(std::uint64_t number) {
  if (number >= enum_size<E>) return {};
  return static_cast<E>(number);
}

template <named_enum E>
constexpr std::optional<E> enumerator_named(std::string_view text) {
  for (auto const& [value, name] : names_of_enum<E>)
    if (name == text) return value;
  return {};
}

template <named_enum E>
constexpr auto all_names() {
  std::array<std::string_view, enum_size<E>> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = names_of_enum<E>[i].name;
  return names;
}

}  // namespace muster
