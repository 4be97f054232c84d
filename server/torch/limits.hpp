// What the store of torch.distributed takes of its clients, who have no credentials: each number is
// checked before memory is taken for it. Plain data, read-only once a station has it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::torch {

struct limits {
  // Those of torch's own server.
  std::size_t key_bytes = 8'192;
  std::size_t value_bytes = std::size_t{8} << 20;
  std::uint64_t keys_of_a_call = 131'072;
  // Those of ours, of one call and its answer.
  std::size_t call_bytes = std::size_t{64} << 20;
  std::size_t answer_bytes = std::size_t{64} << 20;
  // Of all connections together: commands that have come in part, and answers that nobody reads.
  std::size_t unfinished_bytes = std::size_t{256} << 20;
  std::size_t unread_bytes = std::size_t{256} << 20;
  // Of a key space, entries of queues among them; the space before it is forgotten for room.
  std::size_t keys = 1'000'000;
  std::size_t bytes = std::size_t{1} << 30;
  // Keys that parked calls wait for, of all connections.
  std::size_t awaited_keys = 1'000'000;
  std::size_t connections = 10'000;
};

}  // namespace muster::torch
