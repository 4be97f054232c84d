// State of each session or worker, indexed by number. The session or worker table assigns the
// numbers and enforces their maximum. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "server/core/api/ids.hpp"

namespace muster::core {

template <class Number, class T>
class numbered {
 public:
  /// The reference is valid until `close`. REQUIRES: `n` is not open.
  template <class... Args>
  T& open(Number n, Args&&... args) {
    if (raw(n) >= cells_.size()) cells_.resize(raw(n) + std::size_t{1});
    check(!cells_[raw(n)], "a number must not be opened twice");
    cells_[raw(n)] = std::make_unique<T>(std::forward<Args>(args)...);
    return *cells_[raw(n)];
  }
  void close(Number n) { cells_[raw(n)] = nullptr; }
  bool contains(Number n) const { return raw(n) < cells_.size() && cells_[raw(n)]; }

  /// REQUIRES: `n` is open.
  T& operator[](Number n) { return *cells_[raw(n)]; }
  T const& operator[](Number n) const { return *cells_[raw(n)]; }

  /// Calls `f(n, state)` in ascending order of `n`.
  template <class F>
  void for_each(F f) const {
    for (std::size_t i = 0; i < cells_.size(); ++i)
      if (cells_[i]) f(static_cast<Number>(i), *cells_[i]);
  }

 private:
  std::vector<std::unique_ptr<T>> cells_;
};

/// Assigns numbers, starting with 1. Reuses released numbers first.
template <class Number>
class number_pool {
 public:
  Number take() {
    if (free_.empty()) return static_cast<Number>(++last_);
    auto const n = free_.back();
    free_.pop_back();
    return n;
  }
  void give_back(Number n) { free_.push_back(n); }

 private:
  std::vector<Number> free_;
  std::uint32_t last_ = 0;
};

}  // namespace muster::core
