// Limits for TCPStore clients, which have no credentials. Each limit is checked before memory is
// allocated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::torch {

struct limits {
  // Same limits as torch's server.
  std::size_t key_bytes = 8'192;
  std::size_t value_bytes = std::size_t{8} << 20;
  std::uint64_t keys_of_a_call = 131'072;
  std::size_t call_bytes = std::size_t{64} << 20;
  std::size_t answer_bytes = std::size_t{64} << 20;
  // Limits for all connections together: incomplete commands, and answers that clients have not
  // read.
  std::size_t unfinished_bytes = std::size_t{256} << 20;
  std::size_t unread_bytes = std::size_t{256} << 20;
  // Limits for all key spaces, including queues. At a limit, the key space of the previous attempt
  // is dropped first if it is unused.
  std::size_t keys = 1'000'000;
  std::size_t bytes = std::size_t{1} << 30;
  std::size_t awaited_keys = 1'000'000;
  std::size_t connections = 10'000;
};

}  // namespace muster::torch
