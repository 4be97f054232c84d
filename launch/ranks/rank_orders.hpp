// What a worker tells the launcher of a program's ranks: a line of JSON each, over its standard
// input. Pure, but for the look at the list of users.
//
//   {"start": {…}, "logs": DIR, "work": DIR, "devices": {"0": "4,5"}, "user": NAME}   first, once
//                                    beside these: "stacks": {"modules": DIR, "directory": DIR,
//                                    "signal": N}, "steps": the path of a rank's file without N
//   {"stop": {"rank": [0], "signal": 15, "grace_ms": 1000}}                           no rank: all
//   {"lease_until_ns": N}                             by CLOCK_MONOTONIC; ranks are killed then
//
// "start" and "stop" are StartRanks and StopRanks of proto/muster/v1/programs.proto as Protobuf
// writes them in JSON with the names of the file, so a worker in any language can say them.
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
  role program;           // its name is the rank's number
  bool own_cwd = false;   // its directory is to be made
  std::string refusal{};  // not empty: it cannot be started, and why
  /// Both by plan_forks: how a fork server begins it; why none does though it was asked for.
  std::optional<python_command> python{};
  std::string not_preloaded{};
  /// Not empty: steps are read off its lines, and said into the file.
  std::string step_pattern{}, step_file{};
};

struct start_order {
  std::vector<rank_role> ranks;
  std::string logs;  // a directory: what rank 3 prints goes to 3.log
  std::chrono::milliseconds grace{};
  std::vector<std::string> preload{};  // modules that a fork server imports before
};

struct stop_order {
  std::vector<std::uint32_t> ranks;  // empty: all
  int signal = 0;
  std::chrono::milliseconds grace{};  // 0: SIGKILL at once
};

struct rank_order {
  std::optional<start_order> start{};
  std::optional<stop_order> stop{};
  std::optional<std::chrono::steady_clock::time_point> lease_until{};
};

/// `inherited`: what ranks have from the launcher's environment. Errors: std::exception says what
/// is wrong with the line, or with the cluster in it.
rank_order parse_order(std::string_view line, environment_map const& inherited);

}  // namespace muster::launch
