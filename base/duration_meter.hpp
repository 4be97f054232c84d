// Durations of an activity: all of them, and those of the last minute. One thread adds durations,
// and any thread reads them, without locks. A reading during an addition can lack parts of it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace muster {

/// Counts of durations in buckets: four per octave, up to about 19 hours.
class duration_counts {
 public:
  using duration = std::chrono::microseconds;
  static constexpr std::size_t an_octave = 4;
  static constexpr std::size_t buckets = 1 + 34 * an_octave;  // the last one has no upper limit

  /// Returns the inclusive upper limit of a bucket, which doubles every `an_octave` buckets.
  static duration limit(std::size_t bucket);
  static std::size_t bucket_of(duration d);

  struct bucket {
    std::uint64_t count = 0;
    duration sum{};
  };
  std::array<bucket, buckets> all{};

  std::uint64_t count() const;
  duration sum() const;
  /// Returns a percentile, as the mean of its bucket, or 0 without durations.
  /// @param part from 0 to 1
  duration percentile(double part) const;
};

class duration_meter {
 public:
  using clock = std::chrono::steady_clock;
  using duration = duration_counts::duration;

  struct recent {
    duration_counts times{};
    duration longest{};
  };

  void add(duration d, clock::time_point now = clock::now());
  duration_counts total() const;
  /// Returns the durations of the last 60 to 65 seconds.
  recent last_minute(clock::time_point now = clock::now()) const;

 private:
  static constexpr std::chrono::seconds part{5};
  static constexpr std::int64_t parts = 12;

  struct cell {
    std::atomic<std::uint64_t> count{0};
    std::atomic<std::int64_t> sum_us{0};
  };
  using cell_list = std::array<cell, duration_counts::buckets>;
  struct slot {
    std::atomic<std::int64_t> number{-1};  // of the part of time; -1 while empty
    std::atomic<std::int64_t> longest_us{0};
    cell_list cells{};
  };

  static std::int64_t number_of(clock::time_point t) { return t.time_since_epoch() / part; }
  static void add_to(slot& s, std::size_t bucket, std::int64_t us);
  static void read(cell_list const& from, duration_counts& into);

  slot total_;
  std::array<slot, static_cast<std::size_t>(parts) + 1> slots_;  // one of them is incomplete
};

}  // namespace muster
