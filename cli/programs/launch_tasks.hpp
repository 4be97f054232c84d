// What flags say of a program's ranks: how many of which types, and what each asks for. Main
// thread.
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
  std::string nproc;                           // "8"; with --nnodes of each host
  std::optional<std::uint32_t> gpus;           // of each rank
  std::vector<std::string> resources, labels;  // "gpu=4", or of one type "worker:gpu=4"
  std::vector<std::string> commands;           // "ps=python ps.py", for a shell
};

/// Writes --nproc, --nnodes and --gpus as `tasks` and `resources`. Without any of them one task.
/// Returns how many ranks one worker may get: 0, unless --nnodes says it. Errors: command_error
/// (usage).
std::uint32_t spell_out(launch_tasks& given, std::string const& nnodes);

void add_launch_tasks(CLI::App& verb, launch_tasks& to);

/// The member `tasks` of a submission. command_error (usage) names the flag that is wrong.
json::object tasks_json(launch_tasks const& given);
/// Each of these types runs a command of its own.
bool all_have_commands(json::object const& tasks);

}  // namespace muster::cli
