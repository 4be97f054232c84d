// muster task-launcher: runs a program's ranks for a worker, which starts this command. The help
// omits the command, because users do not run it.
#include "cli/command.hpp"
#include "launch/ranks/rank_launcher.hpp"

namespace muster::cli {
namespace {

struct no_options {};

int run_task_launcher(no_options&) {
  auto here = launch::split("muster task-launcher");
  if (here.over) return *here.over;
  return launch::run_ranks(std::move(here));
}

}  // namespace

void add_task_launcher(CLI::App& app, choice& chosen) {
  auto const added = add_verb(app, chosen, "task-launcher", "Start ranks of a program for a worker",
                              run_task_launcher);
  added.first->group("");
}

}  // namespace muster::cli
