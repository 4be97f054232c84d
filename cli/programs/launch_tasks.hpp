// What flags say of a program's ranks: how many of which types, and what each asks for. Main
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/rest.hpp"

namespace muster::cli {

struct launch_tasks {
  std::string tasks;                           // "8", "2-8", "worker=8,ps=2"
  std::vector<std::string> resources, labels;  // "gpu=4", or of one type "worker:gpu=4"
  std::vector<std::string> commands;           // "ps=python ps.py", for a shell
};

void add_launch_tasks(CLI::App& verb, launch_tasks& to);

/// The member `tasks` of a submission. command_error (usage) names the flag that is wrong.
json::object tasks_json(launch_tasks const& given);
/// Each of these types runs a command of its own.
bool all_have_commands(json::object const& tasks);

}  // namespace muster::cli
