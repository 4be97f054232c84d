// The lines of orders that a launcher of ranks takes (launch/ranks/rank_orders.hpp). Pure.
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
  /// CUDA_VISIBLE_DEVICES by rank; a rank that is not there is told nothing of devices.
  std::map<std::uint32_t, std::string> devices;
  std::chrono::steady_clock::time_point lease_until;
  stack_files::prepared stacks{};
  std::string steps{};  // the path of a rank's file without its number; empty: they have none
};

std::string start_line(v1::StartRanks const& order, start_settings const& settings);
std::string stop_line(v1::StopRanks const& order);
std::string lease_line(std::chrono::steady_clock::time_point until);

/// The end of a rank, without the name: of one that could not be, and as its launcher says it.
v1::RankEnded not_started(std::string const& why);
v1::RankEnded end_of(std::string const& json);

}  // namespace muster
