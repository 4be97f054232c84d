// Descriptions of structs: number, name and limits of each field. The journal, REST and
// /openapi.json use them, so that each field is declared once.
//
//   constexpr auto fields_of(std::type_identity<agreed_stop>) {
//     return fields(field(1, "attempt", &agreed_stop::attempt), field(2, "step",
//     &agreed_stop::step));
//   }
//
// The number identifies a field in the journal; its meaning never changes. REST shows fields in the
// order of the description.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "server/core/api/time.hpp"

namespace muster::core {

inline constexpr std::uint64_t most_uint32 = 0xffff'ffff;
inline constexpr auto most_hour =
    static_cast<std::uint64_t>(duration(std::chrono::hours(1)).count());
inline constexpr auto most_year =
    static_cast<std::uint64_t>(duration(std::chrono::hours(24 * 365)).count());

enum class shown : std::uint8_t {
  always,
  if_set,    ///< omitted if empty, zero or false
  if_known,  ///< omitted if negative
  unless_default,
  by_hand,   ///< shown by separate code
  in_input,  ///< accepted only in requests
  never,
};

struct field_facts {
  std::uint32_t number = 0;  ///< number in the journal; 0 if the field is not stored
  std::string_view name{};
  std::int64_t least = 0;
  /// Maximum number, text length or microseconds; 0 if the field is not part of requests.
  std::uint64_t most = 0;
  std::uint64_t names = 0;  ///< maximum number of names in a map; 0 means unlimited
  std::string_view help{};
  core::shown shown = core::shown::always;
  bool fixed = false;          ///< each number is stored in eight bytes
  bool bytes = false;          ///< text that may be invalid UTF-8
  bool can_be_absent = false;  ///< stored even if zero, but omitted if equal to `absent`
  std::uint64_t absent = 0;
};

template <class Access>
struct described_field : field_facts {
  Access access;

  template <class T>
  constexpr auto& get(T& of) const {
    return access(of);
  }

  constexpr described_field at_most(std::uint64_t limit) const { return between(0, limit); }
  constexpr described_field between(std::int64_t low, std::uint64_t high) const {
    auto f = *this;
    f.least = low;
    f.most = high;
    return f;
  }
  constexpr described_field with_names(std::uint64_t most_names) const {
    auto f = *this;
    f.names = most_names;
    return f;
  }
  constexpr described_field text(std::string_view help_text) const {
    auto f = *this;
    f.help = help_text;
    return f;
  }
  constexpr described_field show(core::shown how) const {
    auto f = *this;
    f.shown = how;
    return f;
  }
  constexpr described_field as_fixed() const {
    auto f = *this;
    f.fixed = true;
    return f;
  }
  constexpr described_field absent_if(std::uint64_t number_in_entries) const {
    auto f = *this;
    f.can_be_absent = true;
    f.absent = number_in_entries;
    return f;
  }
  constexpr described_field as_bytes() const {
    auto f = *this;
    f.bytes = true;
    return f;
  }
};

template <class T, class M>
struct member_access {
  M T::*member;
  template <class U>
  constexpr auto& operator()(U& of) const {
    return of.*member;
  }
};
template <class Outer, class Inner>
struct nested_access {
  Outer outer;
  Inner inner;
  template <class U>
  constexpr auto& operator()(U& of) const {
    return inner(outer(of));
  }
};

template <class T, class M>
constexpr auto field(std::uint32_t number, std::string_view name, M T::*member) {
  return described_field<member_access<T, M>>{{.number = number, .name = name}, {member}};
}

template <class T>
concept described = requires {
  fields_of(std::type_identity<T>{});
};

template <described T>
inline constexpr auto table_of = fields_of(std::type_identity<T>{});

/// True if each field of `T` is one column in a list of `T`. Column numbers belong to the struct
/// that contains the list.
template <class T>
inline constexpr bool in_columns = false;

/// Returns the fields of a member as if they were fields of the outer struct.
template <class T, class M>
constexpr auto flat(M T::*member) {
  return std::apply(
      [member](auto const&... f) {
        return std::tuple{described_field<
            nested_access<member_access<T, M>, std::remove_cvref_t<decltype(f.access)>>>{
            f, {{member}, f.access}}...};
      },
      table_of<M>);
}

template <class Access>
constexpr auto rows_of(described_field<Access> const& f) {
  return std::tuple{f};
}
template <class... F>
constexpr auto rows_of(std::tuple<F...> const& all) {
  return all;
}
template <class... Rows>
constexpr auto fields(Rows const&... rows) {
  return std::tuple_cat(rows_of(rows)...);
}

/// Calls `f(field)` for each field, in the order of the description.
template <described T, class F>
constexpr void each_field(F&& f) {
  std::apply([&f](auto const&... one) { (f(one), ...); }, table_of<T>);
}

/// Returns the indices of the stored fields, ordered by number. Two equal numbers are a
/// compile-time error.
template <described T>
consteval auto by_number() {
  constexpr auto numbers =
      std::apply([](auto const&... f) { return std::array{f.number...}; }, table_of<T>);
  constexpr auto stored = static_cast<std::size_t>(
      std::count_if(numbers.begin(), numbers.end(), [](auto n) { return n > 0; }));
  std::array<std::size_t, stored> order{};
  std::size_t at = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] > 0) order[at++] = i;
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return numbers[a] < numbers[b]; });
  for (std::size_t i = 1; i < stored; ++i)
    if (numbers[order[i - 1]] == numbers[order[i]]) throw "two fields with the same number";
  return order;
}

template <described T>
inline constexpr auto stored_order = by_number<T>();

/// Calls `f(field)` for each stored field, ordered by number.
template <described T, class F>
constexpr void each_stored(F&& f) {
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (f(std::get<stored_order<T>[i]>(table_of<T>)), ...);
  }
  (std::make_index_sequence<stored_order<T>.size()>());
}

}  // namespace muster::core
