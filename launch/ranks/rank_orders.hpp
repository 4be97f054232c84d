// Orders of a worker to the launcher of a program's ranks: one JSON object per line on its standard
// input. Pure functions, except for user lookups.
//
//   {"start": {…}, "logs": DIR, "work": DIR, "devices": {"0": "4,5"}, "user": NAME}   first, once
//                                    optional: "stacks": {"modules": DIR, "directory": DIR,
//                                    "signal": N}, "steps": path of a rank's file without N
//   {"stop": {"rank": [0], "signal": 15, "grace_ms": 1000}}                           no rank: all
//   {"lease_until_ns": N}                             CLOCK_MONOTONIC; time to kill the ranks
//
// "start" and "stop" are StartRanks and StopRanks of proto/muster/v1/programs.proto in Protobuf's
// JSON form with the names of the .proto file, so workers can be written in any language.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/plan.hpp"
#include "launch/ranks/python_command.hpp"

namespace muster::launch {

struct rank_role {
  std::uint32_t rank = 0;
  role program;           // its name is the rank number
  bool own_cwd = false;   // whether the rank's directory must be created
  std::string refusal{};  // reason why the rank cannot be started; empty if it can be started
  /// plan_forks() sets how a fork server starts the rank, or why no fork server starts it although
  /// one was requested.
  std::optional<python_command> python{};
  std::string not_preloaded{};
  /// If set, the launcher parses steps from the rank's output and writes the steps to the file.
  std::string step_pattern{}, step_file{};
};

struct start_order {
  std::vector<rank_role> ranks;
  std::string logs;  // log directory; for example, 3.log contains the output of rank 3
  std::chrono::milliseconds grace{};
  std::vector<std::string> preload{};  // modules that a fork server imports first
};

struct stop_order {
  std::vector<std::uint32_t> ranks;
  int signal = 0;
  std::chrono::milliseconds grace{};  // 0 means SIGKILL immediately
};

struct rank_order {
  std::optional<start_order> start{};
  std::optional<stop_order> stop{};
  std::optional<std::chrono::steady_clock::time_point> lease_until{};
};

/// @param inherited variables that ranks inherit from the launcher
/// @throws std::exception with a message about the error in the line or its cluster
rank_order parse_order(std::string_view line, environment_map const& inherited);

}  // namespace muster::launch
