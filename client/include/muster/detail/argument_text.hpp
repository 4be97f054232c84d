// Arguments to JSON text with gaps where outputs of other closures belong, and structures of
// remote_values to structures of values. For cluster_coordinator.hpp only.
#pragma once

#include <array>
#include <boost/json.hpp>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "muster/json.hpp"
#include "muster/per_worker_value.hpp"
#include "muster/remote_value.hpp"

namespace muster::detail {

// ---- what holds remote_values -------------------------------------------------------------------

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

// ---- arguments ----------------------------------------------------------------------------------

template <class T>
void append(request& r, T const& v);

template <class T>
void append_gap(request& r, remote_value<T> const& v) {
  if (!v.valid()) throw std::logic_error("an argument is a remote_value of nothing");
  r.inputs.push_back({static_cast<std::uint32_t>(r.args.size()), v.shared()});
}
inline void append_gap(request& r, per_worker_value const& v) {
  if (!v.valid()) throw std::logic_error("an argument is a per_worker_value of nothing");
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
    r.args += to_json(boost::json::value_from(v));
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

// ---- structures ---------------------------------------------------------------------------------

using deadline = std::chrono::steady_clock::time_point;

inline std::chrono::milliseconds until(deadline d) {
  auto const left =
      std::chrono::ceil<std::chrono::milliseconds>(d - std::chrono::steady_clock::now());
  return std::max(left, std::chrono::milliseconds(0));
}

template <class T>
auto fetch_all(remote_value<T> const& v, deadline d) {
  return v.fetch(until(d));
}
template <class T>
requires(!holds_remote_v<T>) T fetch_all(T const& v, deadline) {
  return v;
}
template <class T, class A>
requires holds_remote_v<T>
auto fetch_all(std::vector<T, A> const& all, deadline d);
template <class T, std::size_t N>
requires holds_remote_v<T>
auto fetch_all(std::array<T, N> const& all, deadline d);
template <class T>
requires holds_remote_v<T>
auto fetch_all(std::optional<T> const& v, deadline d);
template <class T, class C, class A>
requires holds_remote_v<T>
auto fetch_all(std::map<std::string, T, C, A> const& all, deadline d);
template <class... T>
requires holds_remote_v<std::tuple<T...>>
auto fetch_all(std::tuple<T...> const& all, deadline d);
template <class A, class B>
requires holds_remote_v<std::pair<A, B>>
auto fetch_all(std::pair<A, B> const& both, deadline d);

template <class T, class A>
requires holds_remote_v<T>
auto fetch_all(std::vector<T, A> const& all, deadline d) {
  std::vector<decltype(fetch_all(all[0], d))> out;
  out.reserve(all.size());
  for (auto const& v : all) out.push_back(fetch_all(v, d));
  return out;
}
template <class T, std::size_t N>
requires holds_remote_v<T>
auto fetch_all(std::array<T, N> const& all, deadline d) {
  return std::apply([d](auto const&... v) { return std::array{fetch_all(v, d)...}; }, all);
}
template <class T>
requires holds_remote_v<T>
auto fetch_all(std::optional<T> const& v, deadline d) {
  using result = std::optional<decltype(fetch_all(*v, d))>;
  return v ? result(fetch_all(*v, d)) : result();
}
template <class T, class C, class A>
requires holds_remote_v<T>
auto fetch_all(std::map<std::string, T, C, A> const& all, deadline d) {
  std::map<std::string, decltype(fetch_all(all.begin()->second, d))> out;
  for (auto const& [key, v] : all) out.emplace(key, fetch_all(v, d));
  return out;
}
template <class... T>
requires holds_remote_v<std::tuple<T...>>
auto fetch_all(std::tuple<T...> const& all, deadline d) {
  return std::apply([d](auto const&... v) { return std::tuple{fetch_all(v, d)...}; }, all);
}
template <class A, class B>
requires holds_remote_v<std::pair<A, B>>
auto fetch_all(std::pair<A, B> const& both, deadline d) {
  return std::pair{fetch_all(both.first, d), fetch_all(both.second, d)};
}

}  // namespace muster::detail
