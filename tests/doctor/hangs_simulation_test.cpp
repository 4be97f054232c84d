#include <gtest/gtest.h>

#include <random>

#include "tests/doctor/model_ranks.hpp"

namespace muster::doctor {
namespace {

using does = model_rank::does;

struct dice {
  std::mt19937_64 engine;
  int upto(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine); }
  duration between(duration least, duration most) {
    return duration(
        std::uniform_int_distribution<std::int64_t>(least.count(), most.count())(engine));
  }
};

struct trained {
  explicit trained(std::uint64_t seed)
      : d{std::mt19937_64(seed)},
        p(static_cast<std::size_t>(2 + d.upto(15))),
        base(d.between(1s, 30s)),
        speaks(d.upto(2) == 0),
        steps(d.upto(2) == 0) {}

  void all(does what, std::string const& line) {
    for (auto& r : p.ranks) r.now = what, r.line = line;
  }
  // All ranks compute, and then wait for the slowest. A step takes up to ten times as long as
  // another.
  hang_change step() {
    auto const slowest = static_cast<std::size_t>(d.upto(static_cast<int>(p.ranks.size())));
    auto const longest = base * (1 + d.upto(10));
    all(does::computes, "\"train.py\", line 40 in compute");
    if (steps)
      for (auto& r : p.ranks) r.step = number;
    ++number;
    if (auto const n = p.run(longest / 10); n != hang_change::none) return n;
    for (std::size_t i = 0; i < p.ranks.size(); ++i)
      if (i != slowest)
        p.ranks[i].now = does::waits, p.ranks[i].line = "\"train.py\", line 44 in reduce";
    auto const n = p.run(longest * 9 / 10);
    if (speaks) p.ranks[0].output += 40;
    if (d.upto(4) == 0) ++p.activity;
    return n;
  }
  hang_change save() {
    all(does::waits, "\"train.py\", line 60 in barrier");
    p.ranks[0].now = does::writes;
    p.ranks[0].line = "\"train.py\", line 70 in save";
    return p.run(d.between(10s, 10min));
  }
  hang_change compile() {
    all(does::compiles, "\"train.py\", line 30 in compile");
    auto const n = p.run(d.between(10s, 8min));
    if (n != hang_change::none || d.upto(2) == 0) return n;
    all(does::waits, "\"train.py\", line 31 in first");  // the other ranks have already compiled
    p.ranks.back().now = does::compiles;
    return p.run(d.between(10s, 5min));
  }

  dice d;
  model_program p;
  duration base;
  bool speaks, steps;
  std::uint64_t number = 0;
};

TEST(healthy_programs, are_never_reported_as_hanging) {
  int runs = 0;
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed, ++runs) {
    trained t(seed);
    auto news = t.compile();
    for (int i = 0; i < 30 && news == hang_change::none; ++i)
      news = t.d.upto(12) == 0 ? t.save() : t.step();
    ASSERT_EQ(news, hang_change::none) << "seed " << seed << ": " << text(*t.p.watch.found());
  }
  EXPECT_EQ(runs, 1'000);
}

TEST(programs_that_hang, have_the_right_rank_named_within_five_seconds_of_the_threshold) {
  std::size_t right = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    trained t(seed);
    auto news = hang_change::none;
    for (int i = 0; i < 5 && news == hang_change::none; ++i) news = t.step();
    ASSERT_EQ(news, hang_change::none) << seed;
    t.all(does::waits, "\"train.py\", line 44 in reduce");
    auto const n = static_cast<int>(t.p.ranks.size());
    auto const who = static_cast<std::size_t>(t.d.upto(n));
    auto& r = t.p.ranks[who];
    auto const kind = n > 2 ? t.d.upto(4) : 2 + t.d.upto(2);
    r.line = "\"train.py\", line 42 in load";
    r.now = std::vector{does::waits, does::spins, does::stopped,
                        does::in_kernel}[static_cast<std::size_t>(kind)];
    // The time of the stop is only known to the sampling interval.
    auto const threshold = (kind == 1 ? 2 : 1) * 60s + 2 * t.p.watch.every();
    ASSERT_EQ(t.p.run(threshold + 5s), hang_change::found) << "seed " << seed << " kind " << kind;
    right += t.p.named() == static_cast<std::int64_t>(who);
  }
  EXPECT_EQ(right, 500u);
}

}  // namespace
}  // namespace muster::doctor
