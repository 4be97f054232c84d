#include "muster/partitioner.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace muster {
namespace {

std::uint64_t positive(char const* name, std::uint64_t n) {
  if (n == 0) throw std::invalid_argument(std::string(name) + ": 0, must be positive");
  return n;
}

double numbers_in(shape const& of) {
  double n = 1;
  for (auto const d : of) n *= static_cast<double>(d);
  return n;
}

std::vector<std::uint64_t> parts(shape const& of, std::uint64_t first) {
  std::vector<std::uint64_t> all(of.size(), 1);
  if (!all.empty()) all[0] = std::max<std::uint64_t>(1, first);
  return all;
}

/// Rounds up a non-negative number.
std::uint64_t ceiling(double n) {
  auto const down = static_cast<std::uint64_t>(n);
  return down + (static_cast<double>(down) < n);
}

}  // namespace

partitioner fixed_shards_partitioner(std::uint64_t num_shards) {
  positive("num_shards", num_shards);
  return [=](shape const& of, std::size_t) { return parts(of, std::min(num_shards, of.at(0))); };
}

partitioner min_size_partitioner(min_size_options o) {
  positive("min_shard_bytes", o.min_shard_bytes);
  positive("max_shards", o.max_shards);
  return [=](shape const& of, std::size_t item_bytes) {
    auto const wanted = ceiling(numbers_in(of) * static_cast<double>(item_bytes) /
                                static_cast<double>(o.min_shard_bytes));
    return parts(of, std::min({of.at(0), o.max_shards, wanted}));
  };
}

partitioner max_size_partitioner(max_size_options o) {
  positive("max_shard_bytes", o.max_shard_bytes);
  if (o.max_shards) positive("max_shards", *o.max_shards);
  return [=](shape const& of, std::size_t item_bytes) {
    auto const rows = std::max<std::uint64_t>(1, of.at(0));
    auto const row = numbers_in(of) / static_cast<double>(rows) * static_cast<double>(item_bytes);
    auto const per_shard =
        row > 0 ? std::max<std::uint64_t>(
                      1, static_cast<std::uint64_t>(static_cast<double>(o.max_shard_bytes) / row))
                : rows;
    auto const wanted = ceiling(static_cast<double>(of.at(0)) / static_cast<double>(per_shard));
    return parts(of, std::min(wanted, o.max_shards.value_or(wanted)));
  };
}

namespace detail {

std::vector<std::uint64_t> bounds_of(partitioner const& p, muster::shape const& of,
                                     std::size_t item_bytes) {
  if (!p || of.empty()) return {0, of.empty() ? 0 : of[0]};
  auto const said = p(of, item_bytes);
  bool const good = said.size() == of.size() && said[0] >= 1 &&
                    std::all_of(said.begin() + 1, said.end(), [](auto n) { return n == 1; });
  if (!good)
    throw std::invalid_argument(
        "the partitioner returned " + shown(said) + " for shape " + shown(of) +
        "; it must return one number for each dimension, and only the first can be above 1");
  auto const count = std::max<std::uint64_t>(1, std::min(said[0], of[0]));
  std::vector<std::uint64_t> bounds{0};
  for (std::uint64_t i = 0; i < count; ++i)
    bounds.push_back(bounds.back() + of[0] / count + (i < of[0] % count));
  return bounds;
}

}  // namespace detail
}  // namespace muster
