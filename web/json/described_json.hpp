// JSON for described structs (server/core/api/described.hpp). One table defines the members of
// requests and responses, with their limits and descriptions.
//
// Durations are strings such as "30s" in requests. In responses, times and durations are in
// milliseconds, and the names of these members end with "_ms". Pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/core/api/described.hpp"
#include "server/core/api/programs.hpp"
#include "web/json/json_fields.hpp"
#include "web/json/members.hpp"

namespace muster::web {

json_kind<std::vector<std::string>> text_list_kind(std::size_t max);
/// Accepts at most `names` names (0 means any number), each with a string of at most `max`
/// characters.
json_kind<core::named_texts> named_texts(std::size_t max, std::uint64_t names);
/// Accepts names with numbers of at least 1.
json_kind<core::named_amounts> named_amounts();

namespace detail {

template <class V>
inline constexpr bool is_time =
    std::is_same_v<V, core::duration> || std::is_same_v<V, core::time_point>;

template <class T, std::size_t i>
using value_at =
    std::remove_cvref_t<decltype(std::get<i>(core::table_of<T>).get(std::declval<T&>()))>;

template <class T>
inline T const default_of{};

template <class T, std::size_t i>
struct name_in_answers {
  static constexpr core::field_facts const& f = std::get<i>(core::table_of<T>);
  static constexpr bool ms = is_time<value_at<T, i>>;
  static constexpr auto text = [] {
    std::array<char, f.name.size() + 3> to{};
    for (std::size_t at = 0; at < f.name.size(); ++at) to[at] = f.name[at];
    for (std::size_t at = 0; at < 3; ++at) to[f.name.size() + at] = "_ms"[at];
    return to;
  }();
  static constexpr std::string_view value{text.data(), f.name.size() + (ms ? 3 : 0)};
};

template <class V, class... Others>
inline constexpr bool is_one_of = (std::is_same_v<V, Others> || ...);
template <class V>
inline constexpr bool has_kind =
    named_enum<V> || is_one_of<V, bool, std::string, core::duration, std::vector<std::string>,
                               core::named_texts, core::named_amounts>;

template <class V>
struct in_request {
  using type = V;
};
template <class V>
struct in_request<std::optional<V>> {
  using type = V;
};

template <class V>
json_kind<V> kind_of(core::field_facts const& f) {
  auto const most = static_cast<std::size_t>(f.most);
  if constexpr (std::is_same_v<V, bool>)
    return flag_kind();
  else if constexpr (named_enum<V>)
    return enum_kind<V>();
  else if constexpr (std::is_same_v<V, std::string>)
    return text_kind(most);
  else if constexpr (std::is_same_v<V, core::duration>)
    return duration_kind(core::duration(static_cast<std::int64_t>(f.most)), f.least > 0);
  else if constexpr (std::is_same_v<V, std::vector<std::string>>)
    return text_list_kind(most);
  else if constexpr (std::is_same_v<V, core::named_texts>)
    return named_texts(most, f.names);
  else
    return named_amounts();
}

}  // namespace detail

template <core::described T>
std::vector<json_field<T>> described_fields() {
  std::vector<json_field<T>> all;
  core::each_field<T>([&all](auto const& f) {
    using member = std::remove_cvref_t<decltype(f.get(std::declval<T&>()))>;
    using value = typename detail::in_request<member>::type;
    constexpr bool chosen = named_enum<value> || std::is_same_v<value, bool>;
    if (f.shown == core::shown::never || (f.most == 0 && !chosen)) return;
    if constexpr (std::is_integral_v<value> && !chosen) {
      auto kind = integer_kind(f.least, static_cast<std::int64_t>(f.most));
      all.push_back(
          {f.name, std::move(kind.schema),
           [f, read = std::move(kind.read)](json_check& check, json_ref const& at, T& to) {
             f.get(to) = static_cast<value>(read(check, at));
           }});
    } else if constexpr (detail::has_kind<value>) {
      auto kind = detail::kind_of<value>(f);
      all.push_back({f.name, std::move(kind.schema),
                     [f, read = std::move(kind.read)](json_check& check, json_ref const& at,
                                                      T& to) { f.get(to) = read(check, at); }});
    }
  });
  return all;
}

template <class T>
void put_field(std::vector<json_field<T>>& into, json_field<T> f) {
  auto const same = [&f](auto const& one) { return one.name == f.name; };
  auto const at = std::find_if(into.begin(), into.end(), same);
  if (at == into.end())
    into.push_back(std::move(f));
  else
    *at = std::move(f);
}

/// Calls `by_hand(name)` for members that the table marks as written by hand.
template <core::described T, class ByHand>
void described_members(member_list const& m, T const& of, ByHand const& by_hand);
template <core::described T>
void described_members(member_list const& m, T const& of) {
  described_members(m, of, [](std::string_view) {});
}

namespace detail {

template <class T, std::size_t i>
void described_member(member_list const& m, T const& of) {
  static constexpr auto f = std::get<i>(core::table_of<T>);
  using value = value_at<T, i>;
  constexpr auto name = name_in_answers<T, i>::value;
  auto const& v = f.get(of);
  using enum core::shown;
  if constexpr (requires { requires core::described<std::remove_cvref_t<decltype(*v)>>; }) {
    m.some_object(
        name, v, [](member_list const& to, auto const& held) { described_members(to, held); },
        f.help);
  } else if constexpr (f.shown == if_known) {
    m.when(v >= 0)(name, static_cast<std::uint64_t>(v < 0 ? 0 : v), f.help);
  } else if constexpr (std::is_signed_v<value>) {
    m.when(f.shown != if_set || v != 0)
        .json(
            name, [] { return schema::integer(f.least, f.most); },
            [&v](json_out& out) { out.number(v); }, f.help);
  } else if constexpr (std::is_enum_v<value> && !named_enum<value>) {
    m(name, muster::name(v), f.help);
  } else if constexpr (f.shown == unless_default) {
    m.when(v != f.get(default_of<T>))(name, v, f.help);
  } else if constexpr (f.shown == if_set) {
    m.some(name, v, f.help);
  } else {
    m(name, v, f.help);
  }
}

}  // namespace detail

template <core::described T, class ByHand>
void described_members(member_list const& m, T const& of, ByHand const& by_hand) {
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    auto const one = [&]<std::size_t at>() {
      static constexpr auto f = std::get<at>(core::table_of<T>);
      if constexpr (f.shown == core::shown::by_hand)
        by_hand(f.name);
      else if constexpr (f.shown != core::shown::never && f.shown != core::shown::in_input)
        detail::described_member<T, at>(m, of);
    };
    (one.template operator()<i>(), ...);
  }
  (std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(core::table_of<T>)>>>());
}

}  // namespace muster::web
