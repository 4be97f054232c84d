#include "base/duration_meter.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace muster {
namespace {

using namespace std::chrono_literals;

duration_meter::clock::time_point const start{1000s};

TEST(duration_counts, limit_belongs_to_its_bucket_and_longer_durations_to_the_next) {
  for (std::size_t n = 0; n + 1 < duration_counts::buckets; ++n) {
    EXPECT_EQ(duration_counts::bucket_of(duration_counts::limit(n)), n);
    EXPECT_EQ(duration_counts::bucket_of(duration_counts::limit(n) + 1us), n + 1);
  }
  EXPECT_EQ(duration_counts::bucket_of(std::chrono::hours(1'000'000)),
            duration_counts::buckets - 1);
}

TEST(duration_counts, percentile_is_the_mean_of_its_bucket) {
  duration_meter m;
  EXPECT_EQ(m.total().percentile(0.5), 0us);
  for (int i = 0; i < 98; ++i) m.add(100us, start);
  m.add(44ms, start);
  m.add(42ms, start);
  EXPECT_EQ(m.total().percentile(0.5), 100us);
  EXPECT_EQ(m.total().percentile(0.98), 100us);
  EXPECT_EQ(m.total().percentile(0.99), 43ms);
}

TEST(duration_meter, last_minute_forgets_earlier_durations_and_total_keeps_them) {
  duration_meter m;
  m.add(3ms, start);
  m.add(500us, start + 30s);
  m.add(-1us, start + 30s);
  auto const then = m.last_minute(start + 30s);
  EXPECT_EQ(then.times.count(), 3u);
  EXPECT_EQ(then.times.sum(), 3500us);
  EXPECT_EQ(then.longest, 3ms);
  auto const later = m.last_minute(start + 70s);
  EXPECT_EQ(later.times.count(), 2u);
  EXPECT_EQ(later.longest, 500us);
  EXPECT_EQ(m.last_minute(start + 200s).times.count(), 0u);
  EXPECT_EQ(m.total().count(), 3u);
}

TEST(duration_meter, reuses_its_parts_of_time_after_a_long_pause) {
  duration_meter m;
  for (int hour = 0; hour < 3; ++hour)
    for (int s = 0; s < 120; ++s) m.add(1ms, start + hour * 1h + s * 1s);
  auto const recent = m.last_minute(start + 2h + 119s);
  EXPECT_GE(recent.times.count(), 60u);
  EXPECT_LE(recent.times.count(), 65u);
  EXPECT_EQ(m.total().count(), 360u);
}

TEST(duration_meter, is_read_while_another_thread_adds) {
  duration_meter m;
  constexpr std::uint64_t n = 20'000;
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < n; ++i) m.add(7us, start + std::chrono::milliseconds(i));
  });
  std::uint64_t before = 0;
  while (before < n) {
    auto const now = m.total().count();
    EXPECT_GE(now, before);
    before = now;
    m.last_minute(start);
  }
  writer.join();
  EXPECT_EQ(m.total().sum(), 7us * n);
}

}  // namespace
}  // namespace muster
