// muster stacks: prints the stacks of a worker's process. The argument is a task, or a closure that
// the worker runs.
#include "cli/programs/stacks.hpp"

#include <iostream>
#include <sstream>

#include "cli/actions.hpp"
#include "cli/command.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"
#include "cli/words/targets.hpp"

namespace muster::cli {
namespace {

struct stacks_options : server_options {
  std::string what, cluster;
};

constexpr std::initializer_list<target> sampled{target::task, target::closure, target::program};

std::string task_stacks_text(json::value const& answer) {
  std::string said = text_of(answer, "worker");
  if (auto const pid = number_of(answer, "pid"); pid > 0)
    said += ", process " + std::to_string(pid);
  auto const& closures = list_of(answer, "closures");
  said += closures.empty() ? ", runs no closure\n" : ", runs\n";
  for (auto const& c : closures)
    said += "  " + text_of(c, "id") + " " + for_terminal(text_of(c, "function")) + '\n';
  auto const process = text_of(answer, "process");
  if (auto const state = text_of(answer, "state"); !is_whole(state))
    said +=
        why_no_stack(state) + (process.empty() ? "" : " (" + for_terminal(process) + ")") + '\n';
  std::istringstream lines(text_of(answer, "stack"));
  for (std::string line; std::getline(lines, line);) said += "  " + for_terminal(line) + '\n';
  return said;
}

int run_stacks(stacks_options& o) {
  rest server(o.rest);
  auto const what = find_target(server, o.what, sampled, {.cluster = o.cluster, .live = true});
  auto const answer = server.get(what.path + "/stacks");
  if (!printed_as_json(o.output, answer))
    std::cout << (what.kind == target::program ? stacks_text(answer) : task_stacks_text(answer));
  return exit_ok;
}

}  // namespace

void add_stacks(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "stacks", "Print the stacks of a worker's process", run_stacks);
  add_value(*verb, "what", o->what, target_words(sampled),
            "A task (worker:3) or its host; a closure, for the worker that runs it; a program, for "
            "its ranks")
      ->required();
  add_closure_cluster_option(*verb, o->cluster);
  add_server_options(*verb, *o);
  verb->footer(
      "Prints all threads of the process that runs closures and objects, without stopping them: "
      "Python\nframes of Python workers, native frames of C++ workers. For programs, it prints the "
      "same as\nmuster programs stacks.\n"
      "Examples:\n"
      "  muster stacks worker:3\n"
      "  muster stacks cl_0000000000000001");
}

}  // namespace muster::cli
