// Saves state of the cores to bytes in memory and reads it back. A type with private state names
// its fields once, in `template <class Archive> void walk(Archive& a) { a(x_, y_); }`, and the same
// list serves both directions; plain aggregates need none. An index that follows from other fields
// is not walked but made anew after them, `if constexpr (Archive::loading)`.
//
// A shared object is written once and stays shared. Unordered maps are written in order of their
// keys, so equal states give equal bytes. Raw pointers and iterators do not compile; an aggregate
// with an array in it needs a `walk`, as its fields cannot be counted.
#pragma once

#include <algorithm>
#include <boost/pfr/core.hpp>
#include <chrono>
#include <cstring>
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
template <class T, class Archive>
concept walked = requires(T& t, Archive& a) {
  t.walk(a);
};
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

/// Writes what it walks over. State is only read, though `walk` is no const function.
class writer {
 public:
  static constexpr bool loading = false;
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
    else if constexpr (walked<T, writer>)
      const_cast<T&>(x).walk(*this);
    else if constexpr (hashed<T>)
      put_sorted(x);
    else if constexpr (sequence<T>)
      put_all(x);
    else
      boost::pfr::for_each_field(x, [this](auto const& field) { put(field); });
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
    std::visit([this](auto const& x) { put(x); }, v);
  }
  void put(std::monostate) {}
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
  std::unordered_map<void const*, std::size_t> numbers_;  // of shared objects, from 1
};

/// Reads what a writer wrote, into the same types. Bytes that end early leave the rest empty.
class reader {
 public:
  static constexpr bool loading = true;
  explicit reader(std::string_view bytes) : rest_(bytes) {}
  template <class... T>
  void operator()(T&... each) {
    (get(each), ...);
  }
  /// Everything was there, and nothing is left.
  bool ok() const { return !broken_ && rest_.empty(); }

 private:
  template <class T>
  void get(T& x) {
    if constexpr (plain<T>) {
      if (rest_.size() < sizeof x) return fail();
      std::memcpy(&x, rest_.data(), sizeof x);
      rest_.remove_prefix(sizeof x);
    } else if constexpr (walked<T, reader>) {
      x.walk(*this);
    } else if constexpr (sequence<T>) {
      get_all(x);
    } else {
      boost::pfr::for_each_field(x, [this](auto& field) { get(field); });
    }
  }
  template <class R, class P>
  void get(std::chrono::duration<R, P>& d) {
    d = std::chrono::duration<R, P>(value<R>());
  }
  template <class C, class D>
  void get(std::chrono::time_point<C, D>& t) {
    t = std::chrono::time_point<C, D>(value<D>());
  }
  void get(core::blob& b) {
    b = {};
    if (!value<bool>()) return;
    auto const e = value<core::encoding>();
    b = core::blob(value<std::string>(), e);
  }
  template <class T>
  void get(std::optional<T>& o) {
    o.reset();
    if (value<bool>()) get(o.emplace());
  }
  template <class A, class B>
  void get(std::pair<A, B>& p) {
    get(p.first);
    get(p.second);
  }
  template <class... T>
  void get(std::variant<T...>& v) {
    auto const index = value<std::size_t>();
    std::size_t i = 0;
    ((i++ == index ? get(v.template emplace<T>()) : void()), ...);
    if (index >= sizeof...(T)) fail();
  }
  void get(std::monostate&) {}
  template <class T>
  void get(std::unique_ptr<T>& p) {
    p = value<bool>() ? std::make_unique<T>() : nullptr;
    if (p) get(*p);
  }
  template <class T>
  void get(std::shared_ptr<T>& p) {
    p = nullptr;
    auto const number = value<std::size_t>();
    if (number == 0) return;
    if (number > shared_.size() + 1) return fail();
    if (number == shared_.size() + 1) {
      auto made = std::make_shared<std::remove_const_t<T>>();
      shared_.push_back(made);
      get(*made);
    }
    p = std::static_pointer_cast<T>(shared_[number - 1]);
  }
  template <class Container>
  void get_all(Container& all) {
    all.clear();
    auto n = value<std::size_t>();
    if (n > rest_.size()) return fail();  // each takes a byte at least
    for (; n > 0 && !broken_; --n) {
      if constexpr (requires { typename Container::mapped_type; })
        all.insert(
            all.end(),
            value<std::pair<typename Container::key_type, typename Container::mapped_type>>());
      else
        all.insert(all.end(), value<typename Container::value_type>());
    }
  }

  template <class T>
  T value() {
    T x{};
    get(x);
    return x;
  }
  void fail() {
    broken_ = true;
    rest_ = {};
  }

  std::string_view rest_;
  std::vector<std::shared_ptr<void>> shared_;
  bool broken_ = false;
};

template <class T>
std::string saved(T const& state) {
  writer w;
  w(state);
  return w.take();
}

/// False: the bytes are not a saved T; `into` is then of no use.
template <class T>
bool load(T& into, std::string_view bytes) {
  reader r(bytes);
  r(into);
  return r.ok();
}

}  // namespace muster::archive
