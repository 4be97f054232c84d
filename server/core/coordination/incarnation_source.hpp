// Incarnations of coordination services: they follow from a seed and practically never repeat.
// Owned by `clusters`.
#pragma once

#include <cstdint>

#include "server/core/api/ids.hpp"

namespace muster::core::coordination {

class incarnation_source {
 public:
  explicit incarnation_source(std::uint64_t seed) : state_(seed) {}

  /// Never 0.
  core::incarnation next() {
    for (;;)
      if (auto const n = split_mix(); n != 0) return core::incarnation{n};
  }

  template <class Archive>
  void walk(Archive& a) {
    a(state_);
  }

 private:
  std::uint64_t split_mix() {
    state_ += 0x9E3779B97F4A7C15u;
    auto z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace muster::core::coordination
