// What people see of a cluster's store of torch.distributed. Plain data, copied out of the station.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/time.hpp"

namespace muster::torch {

enum class attempt_cause : std::uint8_t {
  first,      ///< nobody had connected before
  asked,      ///< by POST …/torch/attempts
  all_left,   ///< the last connection had closed, and somebody came
  rank_anew,  ///< a rank that was there already has come again
  launched,   ///< its program has begun an attempt
};
std::string_view name(attempt_cause c);  ///< "first", "asked", "all_left", "rank_anew", "launched"

struct attempt_view {
  std::uint64_t number = 0;
  attempt_cause cause{};
  core::time_point began{};
  std::size_t connections = 0;
  std::size_t keys = 0;  ///< entries of queues among them
  std::size_t bytes = 0;
};

struct connection_view {
  std::uint64_t id = 0;
  std::string peer;
  std::uint64_t attempt = 0;
  core::time_point since{};
  std::string_view numbering;  ///< "A"; empty: it has said nothing
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> pid;
  std::size_t waits_for = 0;  ///< keys
  core::time_point waits_since = core::never;
};

/// Who waits for a key, or at a barrier.
struct wait_view {
  std::uint64_t attempt = 0;
  std::string key;
  bool barrier = false;
  std::optional<std::uint32_t> rank;  ///< whose key that is
  core::time_point since{};           ///< of who waits for longest
  std::size_t waiting = 0;
  std::vector<std::uint64_t> connections;  ///< a few of them
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

struct station_view {
  std::vector<attempt_view> attempts;  ///< the newest first
  std::size_t connections = 0;
  // Each at most as many as was asked for.
  std::vector<connection_view> shown;
  std::vector<wait_view> waits;
  std::vector<rank_view> ranks;        ///< of the newest attempt
  std::vector<std::uint32_t> missing;  ///< that others wait for, or that were expected
  std::uint32_t expected = 0;          ///< ranks; 0: nobody knows
  bool more = false;                   ///< something was left out
};

}  // namespace muster::torch
