// Doubling pauses with a random part.
#include "base/backoff.hpp"

#include <algorithm>

namespace muster {

backoff::backoff(milliseconds min, milliseconds max, std::uint64_t seed)
    : min_(std::max(min, milliseconds(1))), max_(std::max(max, min_)), span_(min_), random_(seed) {}

backoff::milliseconds backoff::next() {
  auto const whole = span_;
  span_ = std::min(span_ * 2, max_);
  std::uniform_int_distribution<milliseconds::rep> between(whole.count() / 2, whole.count());
  return milliseconds(std::max<milliseconds::rep>(1, between(random_)));
}

}  // namespace muster
