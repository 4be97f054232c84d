// Delays between connection attempts.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

namespace muster {

class backoff {
 public:
  using milliseconds = std::chrono::milliseconds;

  backoff(milliseconds min, milliseconds max, std::uint64_t seed)
      : min_(std::max(min, milliseconds(1))),
        max_(std::max(max, min_)),
        span_(min_),
        random_(seed) {}

  /// Returns a random delay between half the current limit and the limit. The limit starts at `min`
  /// and doubles with each call, up to `max`.
  milliseconds next() {
    auto const whole = span_;
    span_ = std::min(span_ * 2, max_);
    std::uniform_int_distribution<milliseconds::rep> between(whole.count() / 2, whole.count());
    return milliseconds(std::max<milliseconds::rep>(1, between(random_)));
  }
  void reset() { span_ = min_; }

 private:
  milliseconds min_;
  milliseconds max_;
  milliseconds span_;
  std::mt19937_64 random_;
};

}  // namespace muster
