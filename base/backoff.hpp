// How long to wait before the next attempt to connect. No thread rules of its own.
#pragma once

#include <chrono>
#include <random>

namespace muster {

class backoff {
 public:
  using milliseconds = std::chrono::milliseconds;

  backoff(milliseconds min, milliseconds max, std::uint64_t seed);

  /// Doubles from `min` to `max` with every call, each a random half to whole of that.
  milliseconds next();
  /// The next one is the first again.
  void reset() { span_ = min_; }

 private:
  milliseconds min_;
  milliseconds max_;
  milliseconds span_;
  std::mt19937_64 random_;
};

}  // namespace muster
