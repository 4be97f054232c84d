// Slow ranks are found, and no others, in simulated runs.
//
// Noise as in real programs: each step of each rank varies by a lognormal distribution of 4 %. One
// in fifty takes up to three times as long, and all ranks vary together by another 10 %.
#include "server/doctor/slow_ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "server/doctor/steps.hpp"

namespace muster::doctor {
namespace {

enum class run { each_for_itself, wait_and_mark_before };

struct simulated {
  static constexpr std::uint32_t ranks = 64;
  simulated(run how, unsigned seed) : how_(how), random_(seed), at_(ranks, 1'000'000) {}

  // Simulates a step of 200 ms.
  void step(std::uint32_t slow, double by) {
    std::lognormal_distribution<double> own(0, 0.04), shared(0, 0.1);
    std::uniform_real_distribution<double> some(0, 1);
    auto const all = shared(random_);
    std::vector<std::int64_t> works(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      auto each = 200'000 * all * own(random_) * (r == slow ? 1 + by : 1);
      if (some(random_) < (how_ == run::each_for_itself ? 0.02 : 0.001))
        each *= 1 + 2 * some(random_);
      works[r] = static_cast<std::int64_t>(each);
    }
    step_column c{++number_, std::vector<std::uint32_t>(ranks), std::vector<std::int64_t>(ranks)};
    auto const begins = *std::max_element(at_.begin(), at_.end());
    for (std::uint32_t r = 0; r < ranks; ++r) {
      auto const from = how_ == run::each_for_itself ? at_[r] : begins;
      c.at[r] = from + works[r];
      c.took[r] = number_ == 1 ? 0 : static_cast<std::uint32_t>(c.at[r] - at_[r]);
      at_[r] = c.at[r];
    }
    if (columns_.size() >= step_table::steps_kept) columns_.erase(columns_.begin());
    columns_.push_back(std::move(c));
  }
  std::vector<slow_rank> chronic() const {
    static std::vector<std::uint32_t> const like(ranks, 0);
    auto all = slow_ranks(columns_, like, {});
    std::erase_if(all, [](auto const& s) { return !s.chronic; });
    return all;
  }

 private:
  run const how_;
  std::mt19937 random_;
  std::uint64_t number_ = 0;
  std::vector<std::int64_t> at_;
  std::vector<step_column> columns_;
};

void expect_slow_rank_found(run how) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    simulated s(how, seed);
    std::uint32_t const slow = seed % simulated::ranks;
    for (int i = 0; i < 100; ++i) s.step(slow, 0.05);
    auto const found = s.chronic();
    ASSERT_EQ(found.size(), 1u) << "run " << seed;
    EXPECT_EQ(found[0].rank, slow);
    EXPECT_EQ(found[0].arrives_late, how == run::wait_and_mark_before);
    EXPECT_NEAR(found[0].permille, 50, 25);
  }
}

TEST(slow_ranks, five_percent_slower_rank_is_found_in_a_hundred_steps) {
  expect_slow_rank_found(run::each_for_itself);
}

TEST(slow_ranks, synchronised_slow_rank_is_found_by_its_arrival) {
  expect_slow_rank_found(run::wait_and_mark_before);
}

// 10,000 ranks in 160 runs of 500 steps, sampled every 20 steps.
void expect_no_slow_rank(run how) {
  std::size_t named = 0;
  for (unsigned seed = 0; seed < 160; ++seed) {
    simulated s(how, 1'000 + seed);
    for (int i = 1; i <= 500; ++i) {
      s.step(~0u, 0);
      if (i % 20 == 0) named += s.chronic().size();
    }
  }
  EXPECT_LE(named, 1u);
}

TEST(slow_ranks, are_not_found_where_there_are_none) {
  expect_no_slow_rank(run::each_for_itself);
}

TEST(slow_ranks, are_not_found_where_there_are_none_and_all_wait) {
  expect_no_slow_rank(run::wait_and_mark_before);
}

std::vector<step_column> even(std::uint32_t ranks, std::uint64_t steps) {
  std::vector<step_column> all;
  for (std::uint64_t s = 1; s <= steps; ++s) {
    step_column c{s, std::vector<std::uint32_t>(ranks, 1'000), std::vector<std::int64_t>(ranks)};
    for (std::uint32_t r = 0; r < ranks; ++r)
      c.at[r] = static_cast<std::int64_t>(1'000 * s + 3 * ((r + s) % 7));
    all.push_back(std::move(c));
  }
  return all;
}

TEST(slow_ranks, slow_steps_are_distinguished_from_slow_ranks) {
  auto columns = even(8, 100);
  columns[40].took[3] = 9'000;
  columns[70].took[3] = 8'000;
  auto const found = slow_ranks(columns, std::vector<std::uint32_t>(8, 0), {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].chronic);
  EXPECT_EQ(found[0].rank, 3u);
  EXPECT_EQ(found[0].step, 71u);
  EXPECT_EQ(found[0].times, 2u);
  EXPECT_EQ(found[0].took, core::duration(8'000));
  EXPECT_EQ(found[0].usual, core::duration(1'000));
}

TEST(slow_ranks, are_compared_only_with_enough_similar_ranks) {
  auto columns = even(8, 100);
  for (auto& c : columns) c.took[7] = 5'000;
  std::vector<std::uint32_t> like(8, 0);
  like[7] = 1;
  EXPECT_TRUE(slow_ranks(columns, like, {}).empty()) << "it is the only one of its type";
  like[7] = 0;
  EXPECT_EQ(slow_ranks(columns, like, {}).size(), 1u);
}

TEST(slow_ranks, are_not_found_within_the_error_of_clocks) {
  auto columns = even(8, 100);
  for (auto& c : columns) c.at[5] += 200;
  std::vector<std::uint32_t> const like(8, 0);
  for (auto& c : columns)
    for (std::uint32_t r = 0; r < 8; ++r)
      c.took[r] += static_cast<std::uint32_t>((c.step + r) * 37 % 90);
  auto const sharp = slow_ranks(columns, like, {});
  ASSERT_EQ(sharp.size(), 1u);
  EXPECT_EQ(sharp[0].rank, 5u);
  EXPECT_TRUE(sharp[0].arrives_late);
  EXPECT_TRUE(slow_ranks(columns, like, core::duration(5'000)).empty());
}

}  // namespace
}  // namespace muster::doctor
