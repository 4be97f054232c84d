// Histogram of durations for /metrics.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>

#include "server/core/api/time.hpp"

namespace muster::history {

using core::duration;

/// Counts durations without allocations: one bucket up to 4 µs, four buckets per octave up to about
/// 19 hours, and one bucket for longer durations.
class histogram {
 public:
  static constexpr std::size_t an_octave = 4;
  static constexpr std::size_t buckets =
      1 + 34 * an_octave;  // without the bucket for longer durations
  /// Index of the bucket that ends at 64 µs, the first in /metrics.
  static constexpr std::size_t first_exported = 4 * an_octave;

  /// Returns the inclusive upper limit of a bucket, which doubles every `an_octave` buckets.
  static constexpr duration limit(std::size_t n) {
    if (n == 0) return duration(4);
    auto const octave = (n - 1) / an_octave, part = (n - 1) % an_octave;
    return duration(static_cast<std::int64_t>(an_octave + 1 + part) << octave);
  }

  static std::size_t bucket_of(duration d) {
    return bucket_of(static_cast<std::uint64_t>(std::max<std::int64_t>(0, d.count())));
  }

  void add(duration d) {
    auto const us = std::max<std::int64_t>(0, d.count());
    auto& b = buckets_[bucket_of(static_cast<std::uint64_t>(us))];
    ++b.count;
    b.sum += duration(us);
  }

  histogram& operator+=(histogram const& o) {
    for (std::size_t n = 0; n <= buckets; ++n) {
      buckets_[n].count += o.buckets_[n].count;
      buckets_[n].sum += o.buckets_[n].sum;
    }
    return *this;
  }

  /// Returns the count of bucket `n`. The bucket `buckets` counts durations above all limits.
  std::uint64_t in(std::size_t n) const { return buckets_[n].count; }
  duration sum_in(std::size_t n) const { return buckets_[n].sum; }
  std::uint64_t count() const {
    std::uint64_t all = 0;
    for (auto const& b : buckets_) all += b.count;
    return all;
  }
  duration sum() const {
    duration all{};
    for (auto const& b : buckets_) all += b.sum;
    return all;
  }

 private:
  struct bucket {
    std::uint64_t count = 0;
    duration sum{};
  };

  static std::size_t bucket_of(std::uint64_t us) {
    if (us <= 4) return 0;
    auto const bits = static_cast<std::size_t>(std::bit_width(us - 1));
    auto const n = 1 + (bits - 3) * an_octave + ((us - 1) >> (bits - 3)) % an_octave;
    return std::min(n, buckets);
  }

  std::array<bucket, buckets + 1> buckets_{};
};

}  // namespace muster::history
