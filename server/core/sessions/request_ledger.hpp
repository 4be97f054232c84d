// The requests of a durable session whose records still exist; the records of a request are erased
// together. Closure positions are 32-bit and wrap around, because a session can schedule more than
// four billion closures. Used only on the engine thread; bounded by the session's closures.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/check.hpp"

namespace muster::core {

class request_ledger {
 public:
  struct request {
    std::uint32_t first = 0;
    std::uint32_t size = 0;
  };

  /// REQUIRES: the request is not empty, and all its positions are free.
  void add(request r, std::uint32_t forgotten = 0) {
    live_.emplace(r.first, entry{r.size, r.size - forgotten});
  }

  /// Removes a closure. If the closure was the last in its request, returns the request.
  std::optional<request> forget(std::uint32_t order) {
    auto it = live_.upper_bound(order);
    check(it != live_.begin(), "a closure must belong to a request");
    --it;
    if (--it->second.left > 0) return {};
    request const whole{it->first, it->second.size};
    live_.erase(it);
    return whole;
  }

  bool has(std::uint32_t order) const {
    auto const it = live_.upper_bound(order);
    return it != live_.begin() && order - std::prev(it)->first < std::prev(it)->second.size;
  }

  /// Returns the first position, starting with `at`, that is followed by `size` free positions.
  std::uint32_t room_from(std::uint32_t at, std::uint32_t size) const {
    constexpr std::uint64_t end = std::uint64_t{1} << 32;
    for (;;) {
      if (at + std::uint64_t{size} > end) at = 0;
      auto const next = live_.upper_bound(at);
      if (next != live_.begin()) {
        auto const& [first, r] = *std::prev(next);
        if (std::uint64_t{first} + r.size > at) {
          at = first + r.size;  // 2^32 wraps to 0
          continue;
        }
      }
      if (next == live_.end() || next->first - at >= size) return at;
      at = next->first + next->second.size;
    }
  }

  std::size_t size() const { return live_.size(); }

 private:
  struct entry {
    std::uint32_t size = 0;
    std::uint32_t left = 0;
  };
  std::map<std::uint32_t, entry> live_;
};

}  // namespace muster::core
