// Checks arguments against the shape and dtype of an array. For stored.hpp.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>

#include "client/variables/operand.hpp"

namespace muster::detail {

inline constexpr std::uint64_t bytes_max = std::uint64_t{1} << 46;

inline std::uint64_t count_of(detail::shape const& of, std::size_t from = 0) {
  std::uint64_t n = 1;
  for (auto i = from; i < of.size(); ++i)
    if (__builtin_mul_overflow(n, of[i], &n)) n = bytes_max;
  return n;
}

template <class T>
class array_rules {
 protected:
  static constexpr bool adds =
      sizeof(T) > 1;  // if false, T supports only assignment, read and gather

  array_rules(std::string dtype, detail::shape of)
      : dtype_(std::move(dtype)), shape_(std::move(of)), row_(count_of(shape_, 1)) {}

  detail::shape of_rows(std::uint64_t count) const {
    auto made = shape_;
    if (!made.empty()) made[0] = count;
    return made;
  }
  operand<T> typed(array_view const& a, bool adds_to) const {
    if (adds_to && !adds)
      type_error("variables of dtype " + dtype_ + " can only be assigned, read and gathered");
    if (a.shape.empty() && a.dtype != "none") return {nullptr, true, converted<T>(a, dtype_)};
    if (a.dtype != dtype_)
      type_error("dtype: the variable has " + dtype_ + ", the argument has " +
                 std::string(a.dtype));
    return {a.data.data(), false, {}};
  }
  operand<T> whole(array_view const& a, bool adds_to = true, bool single = true) const {
    if (a.shape != shape_ && !(single && a.shape.empty()))
      value_error("shape: the variable has " + shown(shape_) + ", the argument has " +
                  shown(a.shape));
    return typed(a, adds_to);
  }
  operand<T> rows(array_view const& a, std::uint64_t count, bool adds_to = true) const {
    if (a.shape != of_rows(count) && !a.shape.empty())
      value_error("shape: the rows have " + shown(of_rows(count)) + ", the argument has " +
                  shown(a.shape));
    return typed(a, adds_to);
  }
  static std::int64_t rows_in(array_view const& a) {
    return a.shape.empty() ? 0 : static_cast<std::int64_t>(std::min(a.shape[0], bytes_max));
  }
  std::pair<std::uint64_t, std::uint64_t> range(array_view const& begin,
                                                array_view const& end) const {
    return checked(integer("begin", begin), integer("end", end));
  }
  std::pair<std::uint64_t, std::uint64_t> checked(std::int64_t begin, std::int64_t end) const {
    if (!(0 <= begin && begin <= end && static_cast<std::uint64_t>(end) <= size()))
      index_error("rows " + std::to_string(begin) + " to " + std::to_string(end) +
                  ": the number of rows is " + std::to_string(size()));
    return {begin, end};
  }
  std::uint64_t size() const {
    if (shape_.empty()) value_error("a scalar variable has no rows");
    return shape_[0];
  }
  std::vector<std::uint64_t> indices(array_view const& a) const {
    auto const rows_here = size();
    std::vector<std::uint64_t> made;
    bool integers = false;
    auto const take = [&]<class N>(N const*) {
      if constexpr (std::is_integral_v<N>) {
        integers = a.dtype != "bool";
        for (std::size_t i = 0; integers && i < a.data.size() / sizeof(N); ++i) {
          auto const n = detail::load<N>(a.data.data(), i);
          if (std::cmp_less(n, 0) || std::cmp_greater_equal(n, rows_here))
            index_error("index " + std::to_string(n) + ": the number of rows is " +
                        std::to_string(rows_here));
          made.push_back(static_cast<std::uint64_t>(n));
        }
      }
    };
    if (a.shape.size() == 1) with_type(a.dtype, take);
    if (!integers)
      type_error("indices: must be integers in one dimension, not " + std::string(a.dtype) +
                 " of " + shown(a.shape));
    return made;
  }
  struct rows_to_add {
    std::vector<std::uint64_t> places;  // ascending
    std::vector<T> rows;
  };
  /// Returns rows in ascending order; sums the values of equal indices.
  rows_to_add summed(array_view const& which, array_view const& given) const {
    auto const chosen = indices(which);
    auto const with = rows(given, chosen.size());
    std::vector<std::size_t> order(chosen.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (!std::is_sorted(chosen.begin(), chosen.end()))
      std::stable_sort(order.begin(), order.end(),
                       [&](auto a, auto b) { return chosen[a] < chosen[b]; });
    rows_to_add made;
    for (auto const k : order) {
      if (made.places.empty() || made.places.back() != chosen[k]) {
        made.places.push_back(chosen[k]);
        made.rows.resize(made.rows.size() + row_);
      }
      auto* to = made.rows.data() + made.rows.size() - row_;
      for (std::size_t j = 0; j < row_; ++j) to[j] += with.at(k * row_ + j);
    }
    return made;
  }

  std::string const dtype_;
  detail::shape const shape_;
  std::uint64_t const row_;
};

}  // namespace muster::detail
