// Encodes orders for a rank launcher as lines (launch/ranks/rank_orders.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "client/programs/spool.hpp"
#include "client/programs/stack_files.hpp"
#include "muster/v1/worker.pb.h"

namespace muster {

struct start_settings {
  spool::attempt directories;
  std::string user;
  /// CUDA_VISIBLE_DEVICES by rank; unset for ranks without an entry.
  std::map<std::uint32_t, std::string> devices;
  std::chrono::steady_clock::time_point lease_until;
  stack_files::prepared stacks{};
  std::string steps{};  // step file path without the rank; empty if there is no step file
};

std::string start_line(v1::StartRanks const& order, start_settings const& settings);
std::string stop_line(v1::StopRanks const& order);
std::string lease_line(std::chrono::steady_clock::time_point until);

/// These two functions return a RankEnded without a name, for a rank that was not started and for a
/// launcher's report.
v1::RankEnded not_started(std::string const& why);
v1::RankEnded end_of(std::string const& json);

}  // namespace muster
