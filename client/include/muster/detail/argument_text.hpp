// Converts arguments to JSON text with gaps for the outputs of other calls, and structures of
// remote_values to structures of values. For cluster_coordinator.hpp only.
#pragma once

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "muster/json.hpp"
#include "muster/keyword.hpp"
#include "muster/per_worker_value.hpp"
#include "muster/remote_value.hpp"

namespace muster::detail {

template <class T>
struct holds_remote : std::false_type {};
template <class T>
struct holds_remote<remote_value<T>> : std::true_type {};
template <>
struct holds_remote<per_worker_value> : std::true_type {};
template <class T, class A>
struct holds_remote<std::vector<T, A>> : holds_remote<T> {};
template <class T, std::size_t N>
struct holds_remote<std::array<T, N>> : holds_remote<T> {};
template <class T>
struct holds_remote<std::optional<T>> : holds_remote<T> {};
template <class T, class C, class A>
struct holds_remote<std::map<std::string, T, C, A>> : holds_remote<T> {};
template <class... T>
struct holds_remote<std::tuple<T...>> : std::disjunction<holds_remote<T>...> {};
template <class A, class B>
struct holds_remote<std::pair<A, B>> : std::disjunction<holds_remote<A>, holds_remote<B>> {};
template <class T>
inline constexpr bool holds_remote_v = holds_remote<std::remove_cvref_t<T>>::value;

template <class T>
void append(request& r, T const& v);

template <class T>
void append_gap(request& r, remote_value<T> const& v) {
  if (!v.valid()) throw std::logic_error("an argument is an empty remote_value");
  if (auto const text = v.shared()->text()) {
    r.args += *text;
    return;
  }
  r.inputs.push_back({static_cast<std::uint32_t>(r.args.size()), v.shared()});
}
inline void append_gap(request& r, per_worker_value const& v) {
  if (!v.valid()) throw std::logic_error("an argument is an empty per_worker_value");
  r.args += "{\"$per_worker\":\"" + v.id() + "\"}";
  r.per_worker.push_back(v.shared());
}
template <class T>
void append_each(request& r, T const& all) {
  char separator = '[';
  for (auto const& v : all) r.args += std::exchange(separator, ','), append(r, v);
  r.args += separator == '[' ? "[]" : "]";
}
template <class T>
void append_members(request& r, T const& all) {
  char separator = '{';
  for (auto const& [key, v] : all) {
    r.args += std::exchange(separator, ',');
    r.args += boost::json::serialize(boost::json::string(key));
    r.args += ':';
    append(r, v);
  }
  r.args += separator == '{' ? "{}" : "}";
}
template <class Tuple>
void append_tuple(request& r, Tuple const& all) {
  r.args += '[';
  std::apply(
      [&r](auto const&... v) {
        bool first = true;
        ((r.args += std::exchange(first, false) ? "" : ",", append(r, v)), ...);
      },
      all);
  r.args += ']';
}

template <class T>
struct is_optional_of : std::false_type {};
template <class T>
struct is_optional_of<std::optional<T>> : std::true_type {};

template <class T>
void append(request& r, T const& v) {
  if constexpr (!holds_remote_v<T>) {
    r.args += to_json(written(v));
  } else if constexpr (requires { v.shared(); }) {
    append_gap(r, v);
  } else if constexpr (is_optional_of<T>::value) {
    if (v)
      append(r, *v);
    else
      r.args += "null";
  } else if constexpr (requires { typename T::mapped_type; }) {
    append_members(r, v);
  } else if constexpr (requires { v.begin(); }) {
    append_each(r, v);
  } else {
    append_tuple(r, v);
  }
}

template <class T>
void append_named(request& r, std::vector<std::string_view>& names, keyword<T> const& v) {
  if (std::count(names.begin(), names.end(), v.name) != 0) throw_named_twice(v.name);
  if (!names.empty()) r.args += ',';
  names.push_back(v.name);
  r.args += boost::json::serialize(boost::json::string(v.name));
  r.args += ':';
  append(r, v.value);
}

/// Appends all arguments: [positional…], or {"args":[…],"kwargs":{…}} if there are keyword
/// arguments.
template <class... Args>
void append_arguments(request& r, Args const&... args) {
  static_assert(keywords_come_last<Args...>(), "named arguments must follow positional arguments");
  blob_recording_scope const here(r.contents);
  if constexpr (!any_keyword<Args...>) {
    append_tuple(r, std::tie(args...));
  } else {
    r.args += "{\"args\":[";
    bool first = true;
    [[maybe_unused]] auto const by_position = [&]<class T>(T const& v) {
      if constexpr (!is_keyword<T>::value) {
        if (!std::exchange(first, false)) r.args += ',';
        append(r, v);
      }
    };
    (by_position(args), ...);
    r.args += "],\"kwargs\":{";
    std::vector<std::string_view> names;
    auto const by_name = [&]<class T>(T const& v) {
      if constexpr (is_keyword<T>::value) append_named(r, names, v);
    };
    (by_name(args), ...);
    r.args += "}}";
  }
}

using deadline = std::chrono::steady_clock::time_point;

template <class T>
auto fetch_all(T const& v, deadline d) {
  if constexpr (!holds_remote_v<T>) {
    return v;
  } else if constexpr (requires { v.fetch(); }) {
    auto const left =
        std::chrono::ceil<std::chrono::milliseconds>(d - std::chrono::steady_clock::now());
    return v.fetch(std::max(left, std::chrono::milliseconds(0)));
  } else if constexpr (is_optional_of<T>::value) {
    using result = std::optional<decltype(fetch_all(*v, d))>;
    return v ? result(fetch_all(*v, d)) : result();
  } else if constexpr (requires { typename T::mapped_type; }) {
    std::map<std::string, decltype(fetch_all(v.begin()->second, d))> out;
    for (auto const& [key, each] : v) out.emplace(key, fetch_all(each, d));
    return out;
  } else if constexpr (requires { v.first; }) {
    return std::pair{fetch_all(v.first, d), fetch_all(v.second, d)};
  } else if constexpr (requires { v.begin(), std::tuple_size<T>::value; }) {
    return std::apply([d](auto const&... each) { return std::array{fetch_all(each, d)...}; }, v);
  } else if constexpr (requires { v.begin(); }) {
    std::vector<decltype(fetch_all(v[0], d))> out;
    out.reserve(v.size());
    for (auto const& each : v) out.push_back(fetch_all(each, d));
    return out;
  } else {
    return std::apply([d](auto const&... each) { return std::tuple{fetch_all(each, d)...}; }, v);
  }
}

}  // namespace muster::detail
