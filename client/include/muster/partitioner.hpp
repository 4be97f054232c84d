// Rules that determine a variable's number of shards, as in
// tf.distribute.experimental.partitioners.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "muster/array.hpp"

namespace muster {

/// Returns the number of parts for each dimension. `item_bytes` is the size of one element. Only
/// the first dimension can have more than one part.
using partitioner =
    std::function<std::vector<std::uint64_t>(muster::shape const& of, std::size_t item_bytes)>;

/// Returns a partitioner that makes a fixed number of shards, or one shard per row if there are
/// fewer rows than shards.
/// @param num_shards  number of shards
/// @throws std::invalid_argument  the number is 0
partitioner fixed_shards_partitioner(std::uint64_t num_shards);

/// Options of min_size_partitioner.
struct min_size_options {
  /// Minimum size of a shard in bytes.
  std::uint64_t min_shard_bytes = std::uint64_t{256} << 10;
  /// Maximum number of shards.
  std::uint64_t max_shards = 1;
};
/// Returns a partitioner that makes as many shards of at least min_shard_bytes as possible, up to
/// max_shards.
/// @param o  the limits
/// @throws std::invalid_argument  a limit is 0
partitioner min_size_partitioner(min_size_options o);

/// Options of max_size_partitioner.
struct max_size_options {
  /// Maximum size of a shard in bytes; required.
  std::uint64_t max_shard_bytes = 0;
  /// Maximum number of shards; no limit if unset.
  std::optional<std::uint64_t> max_shards{};
};
/// Returns a partitioner that makes as few shards of at most max_shard_bytes as possible. The limit
/// max_shards takes precedence over max_shard_bytes.
/// @param o  the limits
/// @throws std::invalid_argument  a limit is 0
partitioner max_size_partitioner(max_size_options o);

namespace detail {

/// Returns the first row of each shard, followed by the end of the last shard. If the rows cannot
/// be divided equally, each of the first shards has one more row. Throws std::invalid_argument if
/// the partitioner's result is invalid.
std::vector<std::uint64_t> bounds_of(partitioner const& p, muster::shape const& of,
                                     std::size_t item_bytes);

}  // namespace detail
}  // namespace muster
