// State of a cluster's TCPStore for display. Plain data, copied from the tcp_store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/time.hpp"

namespace muster::torch {

enum class attempt_cause : std::uint8_t {
  first,
  asked,     ///< requested by POST …/torch/attempts
  all_left,  ///< a client connected after all clients had disconnected
  rank_restarted,
  launched,  ///< the program started an attempt
};
std::string_view name(attempt_cause c);

struct attempt_view {
  std::uint64_t number = 0;
  attempt_cause cause{};
  core::time_point began{};
  std::size_t connections = 0;
  std::size_t keys = 0;  ///< including entries of queues
  std::size_t bytes = 0;
};

struct connection_view {
  std::uint64_t id = 0;
  std::string peer;
  std::uint64_t attempt = 0;
  core::time_point since{};
  std::string_view numbering;  ///< "A"; empty if unknown
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> pid;
  std::size_t waits_for = 0;
  core::time_point waits_since = core::never;
};

struct wait_view {
  std::uint64_t attempt = 0;
  std::string key;
  bool barrier = false;
  std::optional<std::uint32_t> rank;  ///< rank that writes the key
  core::time_point since{};           ///< start of the longest wait
  std::size_t waiting = 0;
  std::vector<std::uint64_t> connections;
};

struct rank_view {
  std::uint32_t rank = 0;
  std::uint64_t connection = 0;
  std::string peer;
  std::optional<std::uint32_t> pid;
  bool connected = false;
};

struct key_view {
  std::string key;
  std::size_t bytes = 0;
};

struct tcp_store_view {
  std::vector<attempt_view> attempts;  ///< newest first
  std::size_t connections = 0;
  // Each list is truncated to the requested limit.
  std::vector<connection_view> shown;
  std::vector<wait_view> waits;
  std::vector<rank_view> ranks;
  std::vector<std::uint32_t> missing;  ///< expected or awaited ranks that are not connected
  std::uint32_t expected = 0;          ///< number of ranks; 0 if unknown
  bool more = false;
};

}  // namespace muster::torch
