// TensorFlow's partitioning rules, as in python/tests/state/test_partitioners.py.
#include "muster/partitioner.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using counts = std::vector<std::uint64_t>;

TEST(partitioners, fixed_partitioner_uses_the_given_number_of_shards) {
  EXPECT_EQ(fixed_shards_partitioner(2)({10, 3}, 4), (counts{2, 1}));
  EXPECT_EQ(fixed_shards_partitioner(5)({3}, 4), counts{3});
  EXPECT_EQ(fixed_shards_partitioner(5)({0}, 4), counts{1});
  EXPECT_THROW(fixed_shards_partitioner(0), std::invalid_argument);
}

TEST(partitioners, min_size_partitioner_respects_the_minimum) {
  auto const p = min_size_partitioner({.min_shard_bytes = 4, .max_shards = 2});
  EXPECT_EQ(p({6, 1}, 4), (counts{2, 1}));
  EXPECT_EQ(min_size_partitioner({.min_shard_bytes = 4, .max_shards = 10})({6, 1}, 4),
            (counts{6, 1}));
  EXPECT_EQ(min_size_partitioner({.min_shard_bytes = 100, .max_shards = 10})({30, 1}, 4),
            (counts{2, 1}));
  EXPECT_THROW(min_size_partitioner({.min_shard_bytes = 0}), std::invalid_argument);
  EXPECT_THROW(min_size_partitioner({.max_shards = 0}), std::invalid_argument);
}

TEST(partitioners, max_size_partitioner_respects_the_maximum) {
  EXPECT_EQ(max_size_partitioner({.max_shard_bytes = 4})({6, 1}, 4), (counts{6, 1}));
  EXPECT_EQ(max_size_partitioner({.max_shard_bytes = 4, .max_shards = 2})({6, 1}, 4),
            (counts{2, 1}));
  EXPECT_EQ(max_size_partitioner({.max_shard_bytes = 1024})({6, 1}, 4), (counts{1, 1}));
  EXPECT_EQ(max_size_partitioner({.max_shard_bytes = 2})({6, 1}, 4), (counts{6, 1}));
  EXPECT_THROW(max_size_partitioner({}), std::invalid_argument);
}

TEST(partitioners, first_shards_have_one_row_more) {
  EXPECT_EQ(detail::bounds_of(fixed_shards_partitioner(3), {8, 2}, 4), (counts{0, 3, 6, 8}));
  EXPECT_EQ(detail::bounds_of({}, {8, 2}, 4), (counts{0, 8}));
  EXPECT_EQ(detail::bounds_of(fixed_shards_partitioner(3), {}, 4), (counts{0, 0}));
  auto const second = [](shape const&, std::size_t) { return counts{1, 2}; };
  EXPECT_THROW(detail::bounds_of(second, {8, 2}, 4), std::invalid_argument);
}

}  // namespace
}  // namespace muster
