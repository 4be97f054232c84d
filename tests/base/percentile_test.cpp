#include "base/percentile.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace muster {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

struct group {
  std::uint64_t count = 0;
  microseconds least{}, most{};
};

TEST(percentile, is_a_value_of_the_list) {
  std::vector<int> const two{30, 616};
  EXPECT_EQ(percentile(two, 0.5), 30);
  EXPECT_EQ(percentile(two, 0.51), 616);
  std::vector<int> const ten{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(percentile(ten, 0), 1);
  EXPECT_EQ(percentile(ten, 0.5), 5);
  EXPECT_EQ(percentile(ten, 0.9), 9);
  EXPECT_EQ(percentile(ten, 1), 10);
}

TEST(percentile, ranks_are_not_raised_by_rounding_errors) {
  EXPECT_EQ(percentile_rank(0.07, 100), 7u);
  EXPECT_EQ(percentile_rank(0.99, 100), 99u);
  EXPECT_EQ(percentile_rank(0.001, 5), 1u);
}

TEST(percentile, of_groups_is_interpolated_within_the_group) {
  std::vector<group> const groups{{1, 7us, 7us}, {0, 0us, 0us}, {101, 100us, 200us}};
  EXPECT_EQ(percentile_of_groups(groups, 0), 7us);
  EXPECT_EQ(percentile_of_groups(groups, 0.5), 149us);
  EXPECT_EQ(percentile_of_groups(groups, 1), 200us);
}

TEST(percentile, of_no_groups_is_zero) {
  EXPECT_EQ(percentile_of_groups(std::vector<group>(), 0.5), 0us);
  EXPECT_EQ(percentile_of_groups(std::vector<group>(3), 0.5), 0us);
}

}  // namespace
}  // namespace muster
