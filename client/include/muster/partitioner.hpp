// How many shards a variable is divided into, by TensorFlow's rules
// (tf.distribute.experimental.partitioners).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "muster/array.hpp"

namespace muster {

/// Says of a shape and the bytes of one number how many parts each dimension has; only the first
/// may be above 1.
using partitioner =
    std::function<std::vector<std::uint64_t>(muster::shape const& of, std::size_t item_bytes)>;

/// So many shards, or as many as there are rows. Errors, here and below: std::invalid_argument (0).
partitioner fixed_shards_partitioner(std::uint64_t num_shards);

struct min_size_options {
  std::uint64_t min_shard_bytes = std::uint64_t{256} << 10;
  std::uint64_t max_shards = 1;
};
/// As many shards as max_shards allows, of at least min_shard_bytes each.
partitioner min_size_partitioner(min_size_options o);

struct max_size_options {
  std::uint64_t max_shard_bytes = 0;
  std::optional<std::uint64_t> max_shards{};
};
/// As few shards as keep each below max_shard_bytes, but max_shards at most.
partitioner max_size_partitioner(max_size_options o);

namespace detail {

/// Where shards begin and, last, where the last one ends; the first ones have a row more where they
/// cannot be equal. Errors: std::invalid_argument (what a partitioner may not say).
std::vector<std::uint64_t> bounds_of(partitioner const& p, muster::shape const& of,
                                     std::size_t item_bytes);

}  // namespace detail
}  // namespace muster
