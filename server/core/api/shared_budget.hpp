// Bytes that several keep within one limit: each may have what the others leave, and an even share
// of it whatever the others have. So one that was full before another came is over its limit then,
// and makes room in its next step. Owned by server_wide; engine thread only.
#pragma once

#include <algorithm>
#include <cstdint>

namespace muster::core {

class shared_budget {
 public:
  void add(std::uint64_t bytes) { used_ += bytes; }
  void take(std::uint64_t bytes) { used_ -= bytes; }
  std::uint64_t used() const { return used_; }

  /// How much of `all` one of `holders` (0: only this) may have that has `mine` now.
  std::uint64_t share(std::uint64_t all, std::uint64_t mine, std::uint32_t holders) const {
    auto const others = used_ - mine;
    return std::max(all / std::max(holders, 1u), all - std::min(all, others));
  }

 private:
  std::uint64_t used_ = 0;
};

}  // namespace muster::core
