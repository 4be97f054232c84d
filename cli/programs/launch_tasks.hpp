// The flags for a program's ranks: the number of each type, and their requirements. Used on the
// main thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/rest.hpp"

namespace muster::cli {

struct launch_tasks {
  std::optional<std::string> tasks;            // "8", "2-8", "worker=8,ps=2"
  std::string nproc;                           // such as "8"; with --nnodes, for each host
  std::optional<std::uint32_t> gpus;           // number for each rank
  std::vector<std::string> resources, labels;  // such as "gpu=4", or "worker:gpu=4" for one type
  std::vector<std::string> commands;           // such as "ps=python ps.py", which a shell runs
};

/// Converts --nproc, --nnodes and --gpus to `tasks` and `resources`; without these flags, the
/// result is one task. Returns the maximum number of ranks on one worker, or 0 without --nnodes.
/// @throws command_error (usage)
std::uint32_t expand_short_flags(launch_tasks& given, std::string const& nnodes);

void add_launch_tasks(CLI::App& verb, launch_tasks& to);

/// @throws command_error (usage) whose message names the wrong flag
json::object tasks_json(launch_tasks const& given);
bool all_have_commands(json::object const& tasks);

}  // namespace muster::cli
