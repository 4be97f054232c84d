// Serializes values without `operator==` for comparison, field by field. Shared objects are written
// once, unordered maps in key order, so equal values give equal bytes. Raw pointers, iterators and
// classes with private state do not compile.
#pragma once

#include <algorithm>
#include <array>
#include <boost/pfr/core.hpp>
#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "server/core/api/blob.hpp"

namespace muster::archive {

template <class T>
concept plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class T>
concept sequence = requires(T& t) {
  typename T::value_type;
  t.begin();
  t.clear();
};
template <class T>
concept hashed = sequence<T> && requires {
  typename T::hasher;
};

class writer {
 public:
  template <class... T>
  void operator()(T const&... each) {
    (put(each), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <class T>
  void put(T const& x) {
    if constexpr (plain<T>)
      bytes_.append(reinterpret_cast<char const*>(&x), sizeof x);
    else if constexpr (hashed<T>)
      put_sorted(x);
    else if constexpr (sequence<T>)
      put_all(x);
    else
      boost::pfr::for_each_field(x, [this](auto const& field) { this->put(field); });
  }
  template <class R, class P>
  void put(std::chrono::duration<R, P> const& d) {
    put(d.count());
  }
  template <class C, class D>
  void put(std::chrono::time_point<C, D> const& t) {
    put(t.time_since_epoch());
  }
  void put(core::blob const& b) {
    put(static_cast<bool>(b));
    if (b) (*this)(b.encoding(), std::string(b.view()));
  }
  template <class T>
  void put(std::optional<T> const& o) {
    put(o.has_value());
    if (o) put(*o);
  }
  template <class A, class B>
  void put(std::pair<A, B> const& p) {
    (*this)(p.first, p.second);
  }
  template <class... T>
  void put(std::variant<T...> const& v) {
    put(v.index());
    std::visit([this](auto const& x) { this->put(x); }, v);
  }
  void put(std::monostate) {}
  template <class T, std::size_t n>
  void put(std::array<T, n> const& all) {
    for (auto const& x : all) put(x);
  }
  template <class T>
  void put(std::unique_ptr<T> const& p) {
    put(p != nullptr);
    if (p) put(*p);
  }
  template <class T>
  void put(std::shared_ptr<T> const& p) {
    auto const next = numbers_.size() + 1;
    auto const number = p ? numbers_.try_emplace(p.get(), next).first->second : 0;
    put(number);
    if (number == next) put(*p);
  }
  template <class Range>
  void put_all(Range const& all) {
    put(all.size());
    for (typename Range::value_type const& x : all) put(x);
  }
  template <class Map>
  void put_sorted(Map const& all) {
    std::vector<typename Map::const_iterator> in_order;
    for (auto it = all.begin(); it != all.end(); ++it) in_order.push_back(it);
    auto const key = [](auto const& it) -> auto const& {
      if constexpr (requires { it->first; })
        return it->first;
      else
        return *it;
    };
    std::sort(in_order.begin(), in_order.end(),
              [&](auto const& l, auto const& r) { return key(l) < key(r); });
    put(in_order.size());
    for (auto const& it : in_order) put(*it);
  }

  std::string bytes_;
  std::unordered_map<void const*, std::size_t> numbers_;  // from 1
};

template <class T>
std::string saved(T const& state) {
  writer w;
  w(state);
  return w.take();
}

}  // namespace muster::archive
