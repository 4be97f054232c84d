// Arrays of numbers that are returned by variables.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "muster/detail/array_view.hpp"
#include "muster/value.hpp"

namespace muster {

/// Size of each dimension; empty for a single number.
using shape = std::vector<std::uint64_t>;

/// An array of numbers.
template <class T>
struct array {
  /// The elements in C order.
  std::vector<T> data;
  /// Size of each dimension.
  muster::shape shape;
};

namespace detail {

template <class T>
struct is_array : std::false_type {};
template <class T>
struct is_array<array<T>> : std::true_type {};

/// Decodes an array. Throws std::invalid_argument if the element type does not match.
template <class A>
A array_from(value const& v, std::string const& of) {
  using T = typename decltype(A::data)::value_type;
  auto const all = decode(v.bytes);
  if (all.size() != 1 || all[0].dtype != dtype_of<T>)
    throw std::invalid_argument("the output of '" + of + "' is not an array of " +
                                std::string(dtype_of<T>));
  A made;
  made.shape = all[0].shape;
  made.data.resize(all[0].data.size() / sizeof(T));
  copy(all[0], made.data.data());
  return made;
}

}  // namespace detail
}  // namespace muster
